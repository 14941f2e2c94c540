"""Which of many documents of one form a question means, and the lines that all of them have."""

from serve_apps.retrieval.answers.meant_documents import DocumentHead, find_meant_documents
from serve_apps.retrieval.answers.running_lines import RunningLines

ELY = DocumentHead("ely", "0001.pdf", "# Fire report\nPlace: Ely, NV\nDate: 03/05/2021\nVehicle: K7713")
RENO = DocumentHead("reno", "0002.pdf", "# Fire report\nPlace: Reno, NV\nDate: 03/05/2021\nVehicle: K1290")
OCALA = DocumentHead("ocala", "0003.pdf", "# Fire report\nPlace: Ocala, FL\nDate: 07/09/2022\nVehicle: K5521")
HEADS = (ELY, RENO, OCALA)


def meant(question: str, heads: tuple[DocumentHead, ...] = HEADS) -> set[str]:
    return set(find_meant_documents(question, heads).documents)


def test_a_place_a_date_or_a_number_tells_which_document_is_meant() -> None:
    assert meant("How bad was the fire at Ely, Nevada, on March 5, 2021?") == {"ely"}
    assert meant("Who drove vehicle K1290?") == {"reno"}
    assert meant("What burnt in Florida?") == {"ocala"}
    assert meant("What does 0002.pdf say?") == {"reno"}


def test_what_fits_several_means_all_of_them() -> None:
    assert meant("What burnt in Nevada?") == {"ely", "reno"}
    assert meant("What burnt on 5 March 2021?") == {"ely", "reno"}


def test_a_question_that_names_nothing_or_what_all_say_means_none() -> None:
    assert meant("How bad was the fire?") == set() == meant("What is a Fire report?")


def test_a_comparison_means_a_document_for_each_name() -> None:
    assert meant("Which fire was worse, the one at Ocala or the one at Reno?") == {"ocala"} | {"reno"}
    assert meant("Compare vehicle K7713 with vehicle K1290.") == {"ely", "reno"}
    assert meant("Who drove at Ely and Reno?") == {"ely", "reno"}


def test_a_name_and_the_date_of_another_document_are_no_comparison() -> None:
    assert meant("How bad was the fire at Ocala on March 5, 2021?") == {"ocala"}


def test_the_others_of_its_form_are_rivals_and_other_documents_are_none() -> None:
    manual = DocumentHead("manual", "manual.md", "How to fight a fire: keep the doors shut. Ely has a depot.")
    found = find_meant_documents("How bad was the fire at Ely on March 5, 2021?", (*HEADS, manual))
    assert (set(found.documents), set(found.rivals)) == ({"ely"}, {"reno", "ocala"})


def test_a_name_in_a_text_on_a_subject_singles_out_nothing() -> None:
    towns = (
        DocumentHead("a", "a.md", "Ely is a town in the east of the state, founded as a stop of coaches on their way."),
        DocumentHead("b", "b.md", "Reno lies by the river. Casinos opened there early, and marriages ended quickly."),
    )
    assert meant("When was Ely founded?", towns) == set()


def test_letters_of_one_wording_are_rivals_without_a_single_field() -> None:
    text = "Dear {}, thank you for your order, which we have sent to you today. Yours sincerely, the shop"
    letters = tuple(DocumentHead(one, f"{one}.txt", text.format(one)) for one in ("Quist", "Thorne", "Vance"))
    assert meant("When was the order of Thorne sent?", letters) == {"Thorne"}


def test_the_best_known_one_alone_is_named_by_what_it_knows() -> None:
    found = find_meant_documents("How bad was the fire at Ely on March 5, 2021?", HEADS)
    assert [one.shown for one in found.named] == ["Ely", "March 5, 2021"]


BODY = "\n".join(f"Line {word} of the text" for word in ("one", "two", "three", "four", "five", "six", "seven"))


def page(number: int, version: str = "a") -> tuple[str, str, str]:
    text = f"ACME Works\nPage {number} of 9\n{BODY}\nSheet {number}"
    return version, text, text


def test_lines_that_return_at_the_edges_of_pages_are_running() -> None:
    lines = RunningLines.of(page(number) for number in (1, 2, 3))
    assert lines.has("a", "Sheet 7") and lines.has("a", "ACME Works\nPage 4 of 9")
    assert not lines.has("a", "Line four of the text\nSheet 7") and not lines.has("b", "Sheet 7")


def test_the_same_line_at_the_edge_of_three_documents_is_running_everywhere() -> None:
    lines = RunningLines.of(page(1, version) for version in "abc")
    assert lines.has("d", "ACME Works") and not lines.has("d", "Line four of the text")


def test_a_figure_that_differs_between_documents_is_no_running_line() -> None:
    pages = [(name, text, text) for name in "abc" if (text := f"Invoice\n{BODY}\nTotal {ord(name)}")]
    assert not RunningLines.of(pages).has("a", "Total 97")


def test_what_only_some_documents_of_a_form_say_at_an_edge_is_no_running_line() -> None:
    """Four of ten reports have one cause at the end of their first page, and all have the same head."""

    def report(name: str, cause: str) -> tuple[str, str, str]:
        text = f"Records office\n{BODY}\n{cause}"
        return name, text, text

    lines = RunningLines.of(
        report(name, "Worn bearing" if name in "abcd" else f"Loose bolt {name}") for name in "abcdefghij"
    )
    assert lines.has("a", "Records office") and not lines.has("a", "Worn bearing")


def test_documents_of_another_form_do_not_count_against_a_running_line() -> None:
    pages = [page(1, version) for version in "abc"]
    pages += [
        (name, text, text)
        for name in "defghijk"
        if (text := "\n".join(f"Line {n} of letter {name}" for n in range(12)))
    ]
    assert RunningLines.of(pages).has("a", "ACME Works")


def test_a_page_number_joins_no_documents_to_a_form() -> None:
    letters = [(name, text, text) for name in "abc" if (text := f"Hale and Sons\n{BODY}\nOf {name * 4}\n1")]
    rows = {name: "\n".join(f"Row {k} of {name}" for k in range(9)) for name in "defghi"}
    others = [(name, f"{text}\n-----\n1", f"{text}\n-----\n1") for name, text in rows.items()]
    assert RunningLines.of([*letters, *others]).has("a", "Hale and Sons")


def test_short_pages_have_no_running_lines_but_page_numbers_always_are() -> None:
    short = [(name, "Ships in five days.", "Ships in five days.") for name in "abc"]
    assert not RunningLines.of(short).has("a", "Ships in five days.")
    assert RunningLines.of([]).has("a", "Page 3 of 4") and RunningLines.of([]).has("a", "- 12 -")
