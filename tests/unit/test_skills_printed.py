"""What is kept of what a program prints."""

from skills.framework.program_output import OutputHead


def test_only_the_beginning_is_kept_and_the_overflow_is_told_once() -> None:
    kept = OutputHead.of(5)
    assert not kept.take(b"abc")
    assert kept.take(b"defg")
    assert not kept.take(b"h")
    assert (kept.text, kept.cut) == ("abcde", True)


def test_what_just_fits_is_whole_and_bytes_that_are_no_utf_8_are_marked() -> None:
    kept = OutputHead.of(3)
    assert not kept.take(b"a\xffb")
    assert (kept.text, kept.cut) == ("a\ufffdb", False)
