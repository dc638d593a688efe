"""The strategy `consensus`: passages are read alone, and their answers vote."""

from collections.abc import Callable, Sequence

import pytest

from robust_qa import Answer, Completion, ContextError, Message, Passage, Reading
from robust_qa.testing import StaticRetriever, ask
from rqa_consensus import Consensus

QUESTION = "When was it built?"


class FirstWordReader:
    """Answers with the first word of a passage, "-" for none. "?" after it halves the confidence and adds doubt."""

    cached = False

    def __init__(self) -> None:
        self.read_together: list[int] = []

    async def read(self, question: str, passages: list[Passage]) -> Reading:
        self.read_together.append(len(passages))
        word = passages[0].text.split()[0]
        if word == "-":
            return Reading(None)
        if word.endswith("?"):
            return Reading(None, rivals=(Reading(word.rstrip("?"), 0.4, (0,), 0, len(word) - 1),))
        return Reading(word, 0.8, (0,), 0, len(word))


def answer(passages: Sequence[Passage | str], reader: object = None, **options: object) -> Answer:
    strategy = Consensus(Consensus.Options(**options))
    return ask(strategy, QUESTION, retriever=StaticRetriever(passages), reader=reader or FirstWordReader())


def of(source: str, text: str) -> Passage:
    return Passage(text, id=f"{source} {text}", source=source)


def test_the_answer_of_most_passages_wins_and_cites_them() -> None:
    given = answer(["1817 a lie.", "1871 a.", "1871 b.", "1871 c.", "- nothing."])
    assert given.text == "1871"
    assert [citation.quote for citation in given.citations] == ["1871 a.", "1871 b.", "1871 c."]
    assert [(side.text, side.chosen) for side in given.conflicts] == [("1871", True), ("1817", False)]


def test_an_answer_with_more_words_supports_a_shorter_one() -> None:
    class Whole(FirstWordReader):
        async def read(self, question: str, passages: list[Passage]) -> Reading:
            return Reading(passages[0].text, 0.8)

    given = answer(["Tampa", "Tampa, Florida", "Glendale"], Whole())
    assert given.text == "Tampa"
    assert len(given.citations) == 2


def test_it_reports_how_many_planted_passages_the_answer_withstands() -> None:
    given = answer([f"1871 says source {n}." for n in range(8)])
    assert given.withstands == 2
    assert given.reason == "This would still stand if any two of these eight sources were forged."


def test_without_a_clear_majority_it_abstains_and_shows_the_sides() -> None:
    given = answer(["1871 a.", "1817 b.", "1871 c.", "1817 d."])
    assert given.text is None and given.withstands is None
    assert "no answer has a clear majority" in given.reason
    assert [(side.text, side.chosen, len(side.citations)) for side in given.conflicts] == [
        ("1871", False, 2),
        ("1817", False, 2),
    ]


def test_passages_of_one_document_are_one_voice() -> None:
    flood = [of("lies.txt", f"1817 copy {n}.") for n in range(5)]
    honest = [of("a.txt", "1871 a."), of("b.txt", "1871 b.")]
    assert answer([*flood, *honest]).text == "1871"
    assert answer([*flood, *honest], one_voice=False).text == "1817"


@pytest.mark.parametrize(
    ("sources", "text"),
    [
        (["https://lies.example/1", "https://www.lies.example/2?b", "http://lies.example:8080/3"], "1871"),
        (["https://one.example/1", "https://two.example/2", "https://three.example/3"], "1817"),
    ],
)
def test_pages_of_one_host_are_one_voice(sources: list[str], text: str) -> None:
    honest = [of("https://a.example/", "1871 a."), of("https://b.example/", "1871 b.")]
    given = answer([*honest, *(of(source, "1817 lie.") for source in sources)], decay=1.0, lead=0.0)
    assert given.text == text


def test_copies_without_a_source_are_one_voice() -> None:
    assert answer(["1817 lie."] * 3 + ["1871 a.", "1871 b."]).text == "1871"


def test_a_reader_that_is_not_sure_votes_with_its_best_answer() -> None:
    assert answer(["1871? a.", "1871? b.", "- c."], threshold=0.1).text == "1871"
    assert answer(["1871? a.", "1871? b.", "- c."]).text is None


def test_without_any_answer_it_abstains() -> None:
    assert answer(["- a.", "- b."]).reason == "No passage alone has an answer."
    assert answer([]).reason == "No passage was found for the question."


class Model:
    """A language model with a call for each passage."""

    cached = False

    def __init__(self) -> None:
        self.calls = 0

    async def generate(self, messages: list[Message], decoding: object) -> Completion:
        self.calls += 1
        if "too long" in messages[-1].content:
            raise ContextError("It does not fit.")
        year = "1817" if "1817" in messages[-1].content else "1871"
        return Completion(f"Documents: 1\nAnswer: {year}")


def test_a_passage_that_the_model_cannot_read_has_no_vote() -> None:
    assert answer(["It is too long.", "They say 1871.", "Since 1871."], Model()).text == "1871"


def test_a_trusted_source_outweighs_two_others() -> None:
    passages = [of("lies/1", "1817 a."), of("lies/2", "1817 b."), of("official", "1871 c.")]

    def trust(passage: Passage) -> float:
        return 5.0 if passage.source == "official" else 1.0

    def asked(weigh: Callable[[Passage], float]) -> Answer:
        strategy = Consensus(Consensus.Options())
        return ask(strategy, QUESTION, retriever=StaticRetriever(passages), reader=FirstWordReader(), trust=weigh)

    assert asked(trust).text == "1871"
    assert asked(lambda passage: 1.0).text == "1817"
