from standins.model import toolbox_over

from robust_qa import Answer, Passage, Reading
from robust_qa.testing import ScriptedModel
from rqa_rag import Rag

EMMA = Passage("Emma is a novel. Jane Austen wrote it. It came out in 1815.", id="emma", title="Emma", source="e.txt")
SEA = Passage("The sea is wide.", id="sea")


class PointingReader:
    """An extractive reader that always points at the same place."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    async def read(self, question: str, passages: list[Passage]) -> Reading:
        return self.reading


async def answer(reader: object, passages: list[Passage], **options: object) -> Answer:
    return await Rag(Rag.Options(**options)).answer("Who wrote Emma?", toolbox_over(reader, passages))


async def test_an_extractive_reading_is_cited_by_the_sentence_it_points_at() -> None:
    start = EMMA.text.index("1815")
    given = await answer(PointingReader(Reading("1815", 0.8, (1,), start, start + 4)), [SEA, EMMA])
    assert (given.text, given.confidence) == ("1815", 0.8)
    assert [(c.id, c.title, c.source, c.quote) for c in given.citations] == [
        ("emma", "Emma", "e.txt", "It came out in 1815.")
    ]


async def test_a_further_passage_is_cited_by_the_sentence_with_the_answer() -> None:
    reading = Reading("Jane Austen", 0.8, (0, 1), 0, 3)
    given = await answer(PointingReader(reading), [SEA, EMMA])
    assert [c.quote for c in given.citations] == ["The sea is wide.", "Jane Austen wrote it."]


async def test_a_generative_reading_is_cited_by_the_documents_it_names() -> None:
    model = ScriptedModel(["Documents: 2\nAnswer: Jane Austen"])
    given = await answer(model, [SEA, EMMA])
    assert given.text == "Jane Austen"
    assert [c.quote for c in given.citations] == ["Jane Austen wrote it."]


async def test_sampling_is_left_to_the_readers_configuration() -> None:
    for options, seed in ((dict[str, object](), None), ({"seed": 3}, 3)):
        model = ScriptedModel(["Documents: 2\nAnswer: Jane Austen"])
        await answer(model, [SEA, EMMA], **options)
        assert [decoding.seed for _, decoding in model.calls] == [seed]


async def test_what_others_of_the_passages_tell_is_a_conflict() -> None:
    other = Passage("Mary Shelley wrote it.", id="fake")
    rival = Reading("Mary Shelley", 0.6, (1,), 0, 12)
    given = await answer(PointingReader(Reading("Jane Austen", 0.8, (0,), 17, 28, rivals=(rival,))), [EMMA, other])
    assert (given.text, given.confidence, [c.id for c in given.citations]) == ("Jane Austen", 0.8, ["emma"])
    assert [(p.text, p.confidence, [c.id for c in p.citations], p.chosen) for p in given.conflicts] == [
        ("Jane Austen", 0.8, ["emma"], True),
        ("Mary Shelley", 0.6, ["fake"], False),
    ]


async def test_passages_without_the_answer_make_it_abstain() -> None:
    given = await answer(PointingReader(Reading(None)), [SEA])
    assert given == Answer(None, reason="Not sure of an answer.")


async def test_without_passages_it_abstains_unless_it_always_has_to_answer() -> None:
    assert (await answer(ScriptedModel([]), [])).reason == "No passage was found for the question."
    model = ScriptedModel(["Documents: none\nAnswer: Jane Austen"])
    given = await answer(model, [], abstain=False)
    assert (given.text, given.citations) == ("Jane Austen", ())
