"""Parse and print retriever expressions, and show their errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_qa import ConfigError, ExpressionError
from robust_qa.expressions import (
    Applied,
    Chunked,
    Compressed,
    Joined,
    Reranked,
    Shortened,
    Source,
    Top,
    Tree,
    expanded,
    parse_expression,
    sized,
)

WEB, WIKI, PK = Source("web"), Source("wiki"), Source("pk")


@pytest.mark.parametrize(
    "text, tree",
    [
        ("web", WEB),
        ("pk", PK),
        ("none", Source("none")),
        ("wiki@10", Top(WIKI, 10)),
        ("web@rr", Reranked(WEB)),
        ("web@rr@10", Top(Reranked(WEB), 10)),
        ("web@30@rr@10", Top(Reranked(Top(WEB, 30)), 10)),
        ("web@chunk100@rr@10", Top(Reranked(Chunked(WEB, 100)), 10)),
        ("web@1@cut1000", Shortened(Top(WEB, 1), 1000)),
        ("web@2 & wiki@5", Joined((Top(WEB, 2), Top(WIKI, 5)))),
        ("web & wiki & pk", Joined((WEB, WIKI, PK))),
        ("wiki@10 @cp", Compressed(Top(WIKI, 10))),
        ("(web & wiki@20 & pk)@rr@10", Top(Reranked(Joined((WEB, Top(WIKI, 20), PK))), 10)),
        ("(web @cp) & wiki", Joined((Compressed(WEB), WIKI))),
        ("web & (wiki & pk)", Joined((WEB, Joined((WIKI, PK))))),
        ("crag(wiki@10)", Applied("crag", Top(WIKI, 10))),
        ("crag(web & wiki @cp)@3", Top(Applied("crag", Compressed(Joined((WEB, WIKI)))), 3)),
    ],
)
def test_an_expression_has_its_tree_and_prints_as_it_was_written(text: str, tree: Tree) -> None:
    assert parse_expression(text) == tree
    assert str(tree) == text


@pytest.mark.parametrize(
    "loose, bound",
    [
        ("web@rr@5 & wiki@5", "((web@rr)@5) & (wiki@5)"),
        ("web@rr@5 & wiki@5 @cp", "(web@rr@5 & wiki@5) @cp"),
        ("web@10@cp", "(web@10)@cp"),
    ],
)
def test_operators_bind_in_their_order(loose: str, bound: str) -> None:
    assert parse_expression(loose) == parse_expression(bound)


@pytest.mark.parametrize(
    "text, canonical",
    [
        ("  web@RR@5&wiki @ 5@CP ", "web@rr@5 & wiki@5 @cp"),
        ("((web))@007", "web@7"),
        ("web@Chunk 0100 @ CUT 9", "web@chunk100@cut9"),
        ("crag ( wiki )", "crag(wiki)"),
        ("web\n&\twiki", "web & wiki"),
    ],
)
def test_space_case_of_operators_and_needless_parentheses_make_no_difference(text: str, canonical: str) -> None:
    assert str(parse_expression(text)) == canonical


@given(st.text(max_size=40) | st.text("web@rcput&() 15", max_size=20))
def test_any_text_is_an_expression_or_an_error_that_shows_a_place_in_it(text: str) -> None:
    try:
        tree = parse_expression(text)
    except ExpressionError as error:
        _, shown, mark = error.message.split("\n")
        assert len(shown) == len(text) + 2
        assert mark.strip() == "^" and 2 <= mark.index("^") <= len(shown)
    else:
        assert parse_expression(str(tree)) == tree


@pytest.mark.parametrize(
    "text, column, reason",
    [
        ("", 0, "Expected a retriever's name or ("),
        ("@5", 0, "Expected a retriever's name or ("),
        ("web &", 5, "Expected a retriever's name or ("),
        ("()", 1, "Expected a retriever's name or ("),
        ("a b", 2, "@ or &"),
        ("web@5)", 5, "@ or &"),
        ("notes@", 6, "a number of passages, rr, cp, or chunk or cut with"),
        ("notes@x", 6, "a number of passages, rr, cp, or chunk or cut with"),
        ("notes@rrr", 6, "a number of passages, rr, cp, or chunk or cut with"),
        ("notes@chunk", 6, "a number of passages, rr, cp, or chunk or cut with"),
        ("notes@cut0", 9, "The number of words must be 1 to 10000"),
        ("notes@0", 6, "1 to 10000"),
        ("notes@10001", 6, "1 to 10000"),
        ("(web & wiki", 0, "not closed"),
        ("crag(web", 4, "not closed"),
        ("(web wiki)", 5, "@, & or )"),
        ("web @cp & wiki", 8, "@cp must come last"),
        ("crag(web @cp & wiki)", 13, "@cp must come last"),
        ("pk(web)", 0, "pk takes no parentheses"),
    ],
)
def test_a_parse_error_shows_position_and_reason(text: str, column: int, reason: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    said, shown, mark = caught.value.message.split("\n")
    assert reason in said
    assert shown == f"  {text}"
    assert mark.index("^") - 2 == column
    assert "rqa help expressions" in caught.value.hint


def test_control_characters_do_not_reach_the_terminal() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression("web \x1b[31m\n wiki")
    _, shown, mark = caught.value.message.split("\n")
    assert shown == "  web  [31m  wiki" and mark.index("^") - 2 == 4


# -- named expressions


def test_a_named_expression_is_replaced_by_its_expression() -> None:
    named = {"hb": parse_expression("web & half & pk"), "half": parse_expression("wiki@20")}
    assert str(expanded(parse_expression("hb@rr@10 @cp"), named)) == "(web & wiki@20 & pk)@rr@10 @cp"


def test_a_cycle_of_named_expressions_is_an_error() -> None:
    named = {"a": parse_expression("b & web"), "b": parse_expression("a@5")}
    with pytest.raises(ConfigError, match="a -> b -> a"):
        expanded(Source("a"), named)


# -- how many


@pytest.mark.parametrize(
    "text, explicit",
    [
        ("web", "web@10"),  # the default number
        ("web@3", "web@3"),
        ("web & wiki@5", "web@10 & wiki@5"),
        ("(web & wiki)@3", "(web@3 & wiki@3)@3"),
        ("web@rr", "web@10@rr"),  # the same passages in another order
        ("web@rr@5", "web@40@rr@5"),  # candidates
        ("web@rr@20", "web@80@rr@20"),
        ("web@15@rr@10", "web@15@rr@10"),
        ("web@cut250@rr@5", "web@40@cut250@rr@5"),
        ("web@chunk100@rr@5", "web@10@chunk100@rr@5"),  # ten passages have many chunks
        ("web@4@chunk100@rr@5", "web@4@chunk100@rr@5"),
        ("(web & wiki@20 & pk)@rr@10", "(web@40 & wiki@20 & pk)@rr@10"),
        ("web@rr@5 & wiki", "web@40@rr@5 & wiki@10"),
        ("web@20@3", "web@20@3"),
        ("web@3@20", "web@3"),
        ("(web @cp) & crag(wiki)@2", "(web@10 @cp) & crag(wiki@10)@2"),
        ("given@rr@5", "given@rr@5"),  # all of its own passages
    ],
)
def test_a_name_without_a_number_takes_the_number_around_it(text: str, explicit: str) -> None:
    assert str(sized(parse_expression(text), 10)) == explicit
