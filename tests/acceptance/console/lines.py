"""What the console has to hold: the figures that show each line of it, and the task that each page is held to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.evals.report import Report

WALK: Final = (
    "End-to-end tests in real headless Chromium: sign in → ingest the samples → watch progress reach 100 % → open a "
    "citation and see the right page with the passage boxed → chat with approval → retry a failed page → re-index and "
    "roll back → sign out."
)
PICTURES: Final = "Screenshots of every page are written to a folder and looked at; README shows four of them."
ROLES: Final = "A Viewer sees no action it may not do, and forging the request gets 403; tenant B sees nothing of A."
TASKS: Final = (
    "Every page has one task completed in the browser test; no request leaves its origin. axe-core finds no serious "
    "violation in what we wrote (what the framework itself brings is listed)."
)
WEIGHT: Final = (
    "200 sessions opened and closed leak < 100 MB; the time to open a list of 10,000 documents is printed beside a "
    "list of 10 (aim ≤ 2×)."
)
NEWCOMER: Final = "A newcomer's walk, written in README as eight steps, works literally."

PROMISED_SESSIONS: Final = 200
DONE, PICTURED, LEFT = "pages with a task completed", "pages with their pictures", "requests that left the origin"
FIGURES: Final[Mapping[str, str]] = {
    "the walk, in one browser": WALK,
    PICTURED: PICTURES,
    "pictures that README shows": PICTURES,
    "actions a Viewer is offered": ROLES,
    "of these actions, the administrator is offered": ROLES,
    "forged requests refused with 403": ROLES,
    "pages that show another tenant's document": ROLES,
    DONE: TASKS,
    LEFT: TASKS,
    "serious findings in what we wrote": TASKS,
    f"memory grown by {PROMISED_SESSIONS} sessions": WEIGHT,
    "list of 10,000 / list of 10": WEIGHT,
    "steps of README that work": NEWCOMER,
}
# By the path of a page: the test that does what people come to it for. A page without one fails.
PAGE_TASKS: Final[Mapping[str, str]] = {
    "": "test_door.py::test_first_sign_in_to_now_and_back",
    "ingest": "test_ingest.py::test_a_folder_is_estimated_scanned_and_its_failures_explained",
    "documents": "test_documents.py::test_a_document_is_found_read_and_its_passage_shown_by_keyboard",
    "review": "test_review.py::test_a_line_is_corrected_beside_its_picture_and_found",
    "chat": "test_chat.py::test_without_a_model_the_documents_answer_and_the_conversation_is_kept",
    "search": "test_search.py::test_a_question_is_followed_answered_kept_and_run",
    "index": "test_search.py::test_the_next_index_is_built_held_back_and_switched_to",
    "runs": "test_chat.py::test_a_person_allows_what_an_agent_wants_and_the_answer_goes_on",
    "agents": "test_agents.py::test_an_agent_is_made_changed_equipped_and_deleted",
    "skills": "test_skills.py::test_a_script_is_tried_then_given_to_an_agent_then_removed",
    "system": "test_system.py::test_ad_01_to_04_settings_are_searched_changed_refused_and_saved",
}


@dataclass
class Lines:
    """Figures of one session of tests, and what they are counted from.

    Attributes:
        windows: how many were opened.
        foreign: addresses elsewhere that any of them asked for.
        passed: tests, as file::name.
        pictured: pages, by their path, of which pictures were written.
    """

    report: Report = field(default_factory=lambda: Report("test-console"))
    windows: int = 0
    foreign: list[str] = field(default_factory=list)
    passed: set[str] = field(default_factory=set)
    pictured: set[str] = field(default_factory=set)

    def tell(self, name: str, value: float | int | str, holds: bool, unit: str = "") -> None:
        """One of FIGURES; another name is a KeyError."""
        self.report.figure(name, value, unit=unit, goal=FIGURES[name], holds=holds)

    def close(self, pages: Sequence[str]) -> bool:
        """Add what is counted, for a console that has these pages; whether all hold. What no test told has failed."""
        done = [page for page in pages if PAGE_TASKS.get(page) in self.passed]
        self.tell(DONE, f"{len(done)} of {len(pages)}", len(done) == len(pages))
        pictured = [page for page in pages if page in self.pictured]
        self.tell(PICTURED, f"{len(pictured)} of {len(pages)}", len(pictured) == len(pages))
        if self.windows:
            self.tell(LEFT, len(self.foreign), not self.foreign)
        told = {figure.name for figure in self.report.figures}
        for name, goal in FIGURES.items():
            if name not in told:
                self.report.figure(name, None, goal=goal)
        return all(figure.holds for figure in self.report.figures if figure.goal)

    def write(self, whole: bool) -> None:
        """Where only some tests were run (not `whole`), the figures of the last whole run stay as they are."""
        if not whole:
            self.report.name += "-part"
        self.report.finish()
