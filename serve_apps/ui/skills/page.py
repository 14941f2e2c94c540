"""The page Skills, declared: tabs, or one skill with its trial and its removal."""

from typing import Any, Final

import gradio as gr

from serve_apps.ui.kit.blocks import link_to, page_heading, problem_card
from serve_apps.ui.kit.html import SafeHtml
from serve_apps.ui.kit.page import PREFIX, QUIET, ConsoleContext, ConsolePage, html_part
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sessions import Role
from serve_apps.ui.skills import academy, bring, catalogue, trial
from serve_apps.ui.skills.views import HERE, skill_view
from serve_apps.ui.skills.write import SkillWorkbench

GO: Final = "(to) => { if (to && to.startsWith('/console/')) location.assign(to); }"
# Who is offered what: scripts are tried by developers, too; what they write is given to agents by operators.
TABS: Final = {"catalogue": Role.VIEWER, "import": Role.OPERATOR, "write": Role.DEVELOPER, "academy": Role.VIEWER}
CONNECTIONS: Final = f"{PREFIX}/connections"
ABOUT: Final = "What agents can be given: what each skill does, what it may change, and what it needs."


def draw_skills_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """`?skill=` shows one, `?tab=` one of the tabs."""
    with gr.Column(elem_classes="aos-edit"):
        head = html_part()
        skill, people = gr.State(None), gr.State(())
        with gr.Column(visible=False) as one:
            trial.draw_trial(console, skill, people)
            removal, remove = _draw_removal(console)
        with gr.Tabs(visible=False) as tabs:
            with gr.Tab("Catalogue", id="catalogue"):
                catalogue.draw_catalogue_tab(console, blocks)
            with gr.Tab("Import", id="import", visible=False) as import_tab:
                takers = bring.draw_import_tab(console)
            with gr.Tab("Write", id="write", visible=False) as write_tab:
                bench = SkillWorkbench(console)
                bench.declare()
            with gr.Tab("Academy", id="academy"):
                pupil = academy.draw_academy_tab(console, blocks)

    async def load(request: gr.Request) -> list[Any]:
        query = dict(request.query_params)
        hidden, shown = gr.update(visible=False), gr.update(visible=True)
        name = query.get("skill")
        try:
            api = console.api(request)
            role = api.session.role
            may = role.reaches(Role.OPERATOR)
            choices = await trial.agent_choices(api)
            if name is not None:
                found = await api.get(f"/api/skills/{name}")
                removable = gr.update(visible=found["origin"] != "shipped" and may)
                known = found if may else None
                return [skill_view(found), known, choices, gr.update(visible=may), hidden, removable, *[gr.skip()] * 5]
        except ApiProblem as problem:
            return [problem_card(problem.told), None, (), hidden, hidden if name else shown, hidden, *[gr.skip()] * 5]
        asked = query.get("agent")
        tab = query.get("tab", "")
        return [
            page_heading("Skills", ABOUT, link_to("Your connections", CONNECTIONS)),
            None,
            choices,
            hidden,
            gr.update(visible=True, selected=tab if offers(role, tab) else "catalogue"),
            hidden,
            gr.update(visible=may),
            gr.update(visible=offers(role, "write")),
            gr.update(choices=[bring.NO_AGENT, *choices]),
            gr.update(choices=choices),
            gr.update(choices=choices, value=asked if asked in {id_ for _, id_ in choices} else None),
        ]

    outputs = [head, skill, people, one, tabs, removal, import_tab, write_tab, takers, bench.agent, pupil]
    blocks.load(load, None, outputs, **QUIET)
    remove()


def offers(role: Role, tab: str) -> bool:
    """True if there is such a tab for somebody."""
    return tab in TABS and role.reaches(TABS[tab])


def _draw_removal(console: ConsoleContext) -> tuple[gr.Column, Any]:
    """Of what was registered here; it is asked for a second time where agents have it."""
    go = gr.Textbox(visible=False)
    with gr.Column(visible=False) as column:
        away = gr.Checkbox(False, label="Also take it away from the agents that have it")
        button = gr.Button("Remove this skill with all its versions", variant="stop", elem_classes="aos-narrow")
        said = html_part()

    async def removed(request: gr.Request, away: bool) -> tuple[SafeHtml, str]:
        name = dict(request.query_params).get("skill", "")
        try:
            await console.api(request).delete(f"/api/skills/{name}", detach=str(away).lower())
        except ApiProblem as problem:
            return problem_card(problem.told), ""
        return SafeHtml(""), HERE

    def declare() -> None:
        button.click(removed, away, [said, go], **QUIET).then(None, go, None, js=GO, **QUIET)

    return column, declare


PAGE = ConsolePage("skills", "Skills", Role.VIEWER, draw_skills_page, "M14 4l6 6-9 9-6 1 1-6zM12 6l6 6")
