import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_qa import Answer, Passage
from rqa_baselines.replies import Found, concluded, find, holding, numbers
from rqa_baselines.votes import voted

_LINES = "Documents: 1, 99|Documents:|answer: w|Final answer:|```json|<<<ANSWER>>>|<<</ANSWER>>>|{'answer': 1e999|}"
texts = st.lists(st.one_of(st.sampled_from(_LINES.split("|")), st.text(max_size=9))).map("\n".join)


@given(st.lists(texts, min_size=1, max_size=3))
def test_no_reply_makes_anything_raise_or_point_outside_the_passages(replies: list[str]) -> None:
    for reply in replies:
        found = find(reply, 2)
        assert len(found.answer) <= 4000
        assert set(found.documents) <= {1, 2}
    answer = voted(replies, [Passage("One."), Passage("Two.")])
    assert answer.text is None or 0 < (answer.confidence or 0) <= 1


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Hm.\nDocuments: 2\n<<<ANSWER>>> Jane Austen <<</ANSWER>>> Bye.", "Jane Austen"),
        ('"Jane Austen"', '"Jane Austen"'),
        ("Hm.\n<<<ANSWER>>> I don't know <<</ANSWER>>>", ""),
        ("Hm.\n<<<ANSWER>>> Not mentioned <<</ANSWER>>>", ""),
        ("Hm.\nThe answer is not in the documents.", ""),
        ('{"answer": null}', ""),
        ("", ""),
    ],
)
def test_the_answer_is_the_one_that_is_stated_unless_it_declines(reply: str, answer: str) -> None:
    assert find(reply).answer == answer


@pytest.mark.parametrize(
    ("text", "found"), [("1, 3", (1, 3)), ("2-4 and 1", (2, 3, 4, 1)), ("0, 6, -1", ()), ("none", ()), ("3, 3", (3,))]
)
def test_numbers_are_those_of_documents_that_exist(text: str, found: tuple[int, ...]) -> None:
    assert numbers(text, 5) == found


def test_the_last_line_of_documents_counts() -> None:
    for colon in (":", "："):
        assert find(f"Documents{colon} 2\nNo.\nDocuments{colon} 1\nANSWER{colon} x", 2) == Found("x", (1,))


def test_an_answer_cites_the_documents_that_the_reply_names() -> None:
    emma = Passage("Emma came out in 1815. Jane Austen wrote it.", id="emma")
    answer = concluded("Documents: 2, 7\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>", [Passage("x"), emma])
    assert [(c.id, c.quote) for c in answer.citations] == [("emma", "Jane Austen wrote it.")]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("", "The language model's reply is empty."), ("I don't know", "The language model does not know the answer.")],
)
def test_a_reply_without_an_answer_abstains_and_says_why(reply: str, reason: str) -> None:
    assert concluded(reply) == Answer(None, reason=reason)


def test_an_answer_stands_in_the_passages_that_hold_its_words() -> None:
    assert [c.id for c in holding("the 1815", [Passage("In 1818.", id="a"), Passage("In 1815!", id="b")])] == ["b"]
    assert holding("181", [Passage("In 1815.")]) == ()
    assert [c.id for c in holding("1815", [Passage("It came out.", title="1815", id="c")])] == ["c"]


class TestVote:
    REPLIES = ("ANSWER: Mary", "ANSWER: the Jane Austen.\nDocuments: 1", "", "ANSWER: Jane Austen\nDocuments: 2")
    PASSAGES = (Passage("A.", id="a"), Passage("B.", id="b"))

    def test_the_answer_that_most_give_wins_with_its_share_of_all(self) -> None:
        answer = voted(self.REPLIES, self.PASSAGES)
        assert (answer.text, answer.confidence) == ("the Jane Austen.", 0.5)  # two of four
        assert [c.id for c in answer.citations] == ["a", "b"]
        assert [(p.text, p.confidence, p.chosen) for p in answer.conflicts] == [
            ("the Jane Austen.", 0.5, True),
            ("Mary", 0.25, False),
        ]

    def test_of_equals_the_first_wins(self) -> None:
        assert voted(["ANSWER: Mary", "ANSWER: Jane"], ()).text == "Mary"

    def test_one_that_is_chosen_wins_in_its_own_words(self) -> None:
        assert voted(self.REPLIES, self.PASSAGES, chosen=0).text == "Mary"
        assert voted(self.REPLIES, self.PASSAGES, chosen=3).text == "Jane Austen"

    def test_one_that_is_chosen_without_an_answer_leaves_it_to_the_others(self) -> None:
        assert voted(self.REPLIES, self.PASSAGES, chosen=2).text == "the Jane Austen."

    def test_answers_that_agree_are_no_conflict(self) -> None:
        assert voted(["ANSWER: Jane", "ANSWER: jane"], ()).conflicts == ()

    def test_without_any_answer_it_abstains(self) -> None:
        assert voted(["", "I don't know"], ()).abstained
