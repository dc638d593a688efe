import pytest

from robust_qa.errors import ExpressionError
from robust_qa.expressions import Expression, parse


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", Expression(None)),
        ("notes", Expression("notes")),
        ("notes@10", Expression("notes", 10)),
        (" notes @ 10 ", Expression("notes", 10)),
        ("my-notes_2@1", Expression("my-notes_2", 1)),
        ("x@10000", Expression("x", 10_000)),
    ],
)
def test_a_name_and_how_many_passages_to_take(text: str, expected: Expression) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text, column",
    [
        ("@5", 0),
        ("5", 0),
        ("  ", 0),
        ("notes@", 5),
        ("notes@x", 5),
        ("a b", 2),
        ("notes@1.5", 7),
        ("notes@-1", 5),
        ("n@" + "9" * 5000, 11),
    ],
)
def test_what_does_not_parse_is_shown_with_the_place(text: str, column: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    _, shown, mark = caught.value.message.splitlines()
    assert shown == f"  {text}"
    assert mark.index("^") - 2 == column


@pytest.mark.parametrize("text", ["notes@0", "notes@10001", "notes@999999999"])
def test_the_number_of_passages_has_bounds(text: str) -> None:
    with pytest.raises(ExpressionError, match="ask for 1 to 10000"):
        parse(text)


def test_digits_of_other_scripts_are_no_number() -> None:
    with pytest.raises(ExpressionError):
        parse("notes@٣")
