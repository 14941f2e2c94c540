"""A quiz as a Python skill: what `academy_quiz.json` holds, so that answers are scored in the sandbox."""

from importlib.resources import files
from json import dumps
from typing import Any

from skills.quiz import Quiz

NAME = "academy_quiz"

_RUN = '''

def cites(question, source):
    """Whether it is the question's document, and its page where the question names one."""
    place = source if isinstance(source, dict) else {"file": source}
    same = last(place.get("file", "")) == last(question["source"])
    return same and question.get("page") in (None, place.get("page"))


def last(path):
    """A file's name without its folders and without case."""
    return str(path).replace("\\\\", "/").rsplit("/", 1)[-1].casefold()


def run(payload):
    """Without answers the questions; else the share of facts that were said with their source, and what was missed."""
    answers = payload.get("answers")
    if not answers:
        return {"questions": [one["question"] for one in QUIZ["questions"]], "pass_mark": QUIZ["pass_mark"]}
    expected, missed = 0, []
    for at, one in enumerate(QUIZ["questions"]):
        given = answers[at] if at < len(answers) else {}
        right = any(cites(one, source) for source in given.get("sources", []))
        for forms in one["facts"]:
            expected += 1
            said = any(says(str(given.get("answer", "")), form) for form in forms)
            if not (said and right):
                why = "wrong_source" if said else "not_said"
                missed.append({"question": one["question"], "fact": forms[0], "why": why})
    score = (expected - len(missed)) / expected
    return {"score": score, "passed": score >= QUIZ["pass_mark"], "pass_mark": QUIZ["pass_mark"], "missed": missed}
'''


def quiz_skill(quiz: Quiz, pass_mark: float) -> dict[str, Any]:
    """The body of `skills:create_and_attach`; `pass_mark` holds where the quiz has none. It scores as `quiz.mark` does.

    Without retrieval it cannot tell what was not found from what was not said.
    """
    held = {
        "pass_mark": quiz.pass_mark or pass_mark,
        "questions": [
            {"question": one.question, "facts": [list(forms) for forms in one.expected()], "source": one.source}
            | ({} if one.page is None else {"page": one.page})
            for one in quiz.questions
        ],
    }
    marking = files("skills").joinpath("marking.py").read_text(encoding="utf-8")
    answer = {"type": "object", "properties": {"answer": {"type": "string"}, "sources": {"type": "array"}}}
    return {
        "name": NAME,
        "type": "python_inline",
        "description": f"Examines answers about {quiz.track}. Without `answers` it gives the questions;"
        " `answers` is a list in their order of {answer, sources: names of the cited files, or {file, page} of each}.",
        # JSON without true, false and null is Python.
        "code": f"{marking}\n\nQUIZ = {dumps(held, ensure_ascii=True, indent=1)}\n{_RUN}",
        "sandbox": True,
        "parameters": {"type": "object", "properties": {"answers": {"type": "array", "items": answer}}},
        "sample_payload": {"answers": [{"answer": "I do not know.", "sources": []}]},
    }
