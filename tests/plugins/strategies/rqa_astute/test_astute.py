import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import pytest
from standins.model import prompts_of, toolbox_over

from robust_qa import Answer, Completion, CutError, Passage, Question
from robust_qa.testing import ScriptedModel, toolbox
from rqa_astute import Astute

QUESTION = "Who wrote Emma?"
EMMA = Passage("Emma came out in 1815. Jane Austen wrote it.", id="emma", title="Emma", source="emma.txt")
FAKE = Passage("Emma was written by Mary Shelley in 1818.", id="fake", title="Fake")
SEA = Passage("The sea is wide.", id="sea")
MEMORY = "<<<PASSAGE>>>Emma is a novel by Jane Austen.<<</PASSAGE>>>"
DONT_KNOW = "I don't know"
ROUND = "documents: 1, 3\ntext: Jane Austen wrote Emma.\n\ndocuments: 2\ntext: Mary Shelley wrote Emma."
VERDICT = """\
GROUP
documents: 1, 3
summary: The novel Emma is by Jane Austen.
answer: Jane Austen
confidence: 0.9

GROUP
documents: 2
summary: It is by Mary Shelley.
answer: Mary Shelley
confidence: 20%

REASON: Memory and retrieval agree.
<<<ANSWER>>> Jane Austen <<</ANSWER>>>"""

JSON = json.dumps(
    {
        "groups": [
            {"documents": [1, 3], "summary": "By Austen.", "answer": "Jane Austen", "confidence": 0.9},
            {"documents": [2], "summary": "By Shelley.", "answer": "Mary Shelley", "confidence": 0.2},
        ],
        "reason": "Memory and retrieval agree.",
        "answer": "Jane Austen",
    },
    indent=2,
)


async def ask(
    model: ScriptedModel, passages: list[Passage] | None = None, question: str = QUESTION, **options: Any
) -> Answer:
    tools = toolbox_over(model, [EMMA, FAKE] if passages is None else passages, question=question)
    return await Astute(Astute.Options(**options)).answer(question, tools)


class TestAlgorithm1:
    async def test_retrieval_and_memory_do_not_wait_for_each_other(self) -> None:
        asked, searched = asyncio.Event(), asyncio.Event()

        class Retriever:
            async def retrieve(self, query: str, k: int) -> list[Passage]:
                searched.set()
                await asked.wait()
                return [EMMA]

        class Model(ScriptedModel):
            async def generate(self, messages: Any, decoding: Any) -> Completion:
                asked.set()
                await searched.wait()
                return await super().generate(messages, decoding)

        tools = toolbox(QUESTION, reader=Model([MEMORY, VERDICT]), retriever=Retriever())
        async with asyncio.timeout(5):  # one after the other, they would wait forever
            answer = await Astute(Astute.Options()).answer(QUESTION, tools)
        assert answer.text == "Jane Austen"

    async def test_the_pool_is_numbered_retrieved_passages_first_and_labelled_by_source(self) -> None:
        model = ScriptedModel([MEMORY, VERDICT])
        await ask(model)
        headings = ['number="1" from="retrieval"', 'number="2" from="retrieval"', 'number="3" from="memory"']
        assert all(heading in prompts_of(model)[1] for heading in headings)

    async def test_the_model_sees_dates_and_the_users_trust(self) -> None:
        model = ScriptedModel([MEMORY, VERDICT])
        passages = (replace(EMMA, date="2024-05-01"), replace(FAKE, source="https://rumours.example/1"))
        tools = toolbox(Question(QUESTION, passages=passages), reader=model, trust=lambda passage: 0.1)
        await Astute(Astute.Options()).answer(QUESTION, tools)
        assert 'from="retrieval" date="2024-05-01" trust="0.1"' in prompts_of(model)[1]
        assert 'source="https://rumours.example/1" trust="0.1"' in prompts_of(model)[1]

    async def test_each_round_sees_the_pool_and_the_round_before(self) -> None:
        rounds = [f"documents: 1, 3\ntext: Outcome of round {n}." for n in (1, 2)]
        model = ScriptedModel([MEMORY, *rounds, VERDICT])
        await ask(model, iterations=3)
        _, first, second, final = prompts_of(model)
        assert all(EMMA.text in prompt and FAKE.text in prompt for prompt in (first, second, final))
        assert all("a novel by Jane Austen" in prompt for prompt in (first, second, final))
        assert "Outcome" not in first
        assert '<document documents="1, 3" from="memory and retrieval">\nOutcome of round 1.' in second
        assert "Outcome of round 2." in final
        assert "Outcome of round 1." not in final

    async def test_consolidated_documents_keep_their_sources(self) -> None:
        several = "\n".join(f"documents: {n}\ntext: x" for n in ("1", "3", "2, 3", "9"))
        answer = await ask(ScriptedModel([MEMORY, several, VERDICT]), iterations=2)
        sources = [(d["documents"], d["source"]) for d in answer.details["rounds"][0]]
        assert sources == [([1], "retrieval"), ([3], "memory"), ([2, 3], "both"), ([], "")]

    @pytest.mark.parametrize("reply", ["Austen, they all say.", "documents: 1, 2"])
    async def test_a_round_that_cannot_be_used_changes_nothing(self, reply: str) -> None:
        model, without = ScriptedModel([MEMORY, reply, VERDICT]), ScriptedModel([MEMORY, VERDICT])
        answer = await ask(model, iterations=2)
        await ask(without)
        assert (answer.details["rounds"], prompts_of(model)[2]) == ([], prompts_of(without)[1])


class TestMemory:
    async def test_passages_beyond_the_limit_are_left_out(self) -> None:
        answer = await ask(ScriptedModel([MEMORY * 5, VERDICT]), memory_passages=2)
        assert len(answer.details["memory"]) == 2

    async def test_a_model_that_knows_nothing_leaves_the_retrieved_passages_alone(self) -> None:
        model = ScriptedModel([DONT_KNOW, VERDICT])
        answer = await ask(model)
        assert 'from="memory"' not in prompts_of(model)[1].partition("Question:")[0]
        assert answer.text == "Jane Austen"
        assert [c.id for c in answer.citations] == ["emma"]

    async def test_without_retrieved_passages_it_goes_on_with_memory(self) -> None:
        verdict = "documents: 1\nanswer: Jane Austen\nconfidence: high\n<<<ANSWER>>>Jane Austen<<</ANSWER>>>"
        answer = await ask(ScriptedModel([MEMORY, verdict]), [])
        assert answer.text == "Jane Austen"
        assert [(c.id, c.origin) for c in answer.citations] == [("memory-1", "memory")]

    async def test_without_either_it_abstains_before_the_second_call(self) -> None:
        model = ScriptedModel([DONT_KNOW])
        answer = await ask(model, [])
        assert answer.abstained
        assert answer.reason.startswith("Nothing was found")
        assert len(model.calls) == 1


class TestPrompts:
    @pytest.mark.parametrize("structured", [False, True])
    async def test_without_source_awareness_no_prompt_tells_origins(self, structured: bool) -> None:
        model = ScriptedModel([MEMORY, ROUND, VERDICT], structured=structured)
        await ask(model, iterations=2, source_aware=False)
        for prompt in prompts_of(model)[1:]:
            assert "Emma is a novel by Jane Austen." in prompt
            assert not [word for word in ("from=", "memory", "retriev") if word in prompt.lower()]

    async def test_numbers_follow_the_order_and_tell_no_ranks(self) -> None:
        model = ScriptedModel([MEMORY, VERDICT])
        answer = await ask(model, [FAKE, EMMA], order="ascending")
        laid_out = [prompts_of(model)[1].index(f'<document number="{n}"') for n in (1, 2, 3)]
        assert [document["id"] for document in answer.details["documents"]] == ["emma", "fake", "memory-1"]
        assert laid_out == sorted(laid_out)
        assert [c.id for c in answer.citations] == ["emma", "memory-1"]

    async def test_a_model_with_schemas_is_asked_for_json_and_bound_to_it(self) -> None:
        verdict = {"groups": [{"documents": [1], "summary": "", "answer": "A", "confidence": 1}], "answer": "A"}
        replies = ['{"passages": []}', '{"consolidated": []}', json.dumps(verdict)]
        model = ScriptedModel(replies, structured=True)
        await ask(model, iterations=2)
        schemas = [decoding.schema for _, decoding in model.calls]
        assert [list(schema["properties"]) for schema in schemas if schema] == [
            ["passages"],
            ["consolidated"],
            ["reasoning", "groups", "reason", "answer"],  # the answer after the evidence
        ]
        assert all("JSON" in prompt and "<<<" not in prompt for prompt in prompts_of(model))

    async def test_the_options_reach_every_call(self) -> None:
        model = ScriptedModel([MEMORY, ROUND, VERDICT])
        await ask(model, iterations=2, temperature=0.5, max_tokens=99, seed=7)
        assert {(d.temperature, d.max_tokens, d.seed) for _, d in model.calls} == {(0.5, 99, 7)}


class TestAnswer:
    async def test_the_chosen_groups_documents_are_cited_by_the_sentences_with_the_answer(self) -> None:
        answer = await ask(ScriptedModel([MEMORY, VERDICT]))
        assert answer.text == "Jane Austen"
        assert [(c.id, c.quote) for c in answer.citations] == [
            ("emma", "Jane Austen wrote it."),
            ("memory-1", "Emma is a novel by Jane Austen."),
        ]

    async def test_differing_candidates_are_a_conflict(self) -> None:
        answer = await ask(ScriptedModel([MEMORY, VERDICT]))
        positions = [(p.text, [c.id for c in p.citations], p.chosen) for p in answer.conflicts]
        assert positions == [("Jane Austen", ["emma", "memory-1"], True), ("Mary Shelley", ["fake"], False)]

    async def test_the_numbers_that_the_model_writes_down_are_no_confidence(self) -> None:
        answer = await ask(ScriptedModel([MEMORY, VERDICT]))
        assert {answer.confidence, *(side.confidence for side in answer.conflicts)} == {None}
        assert [group["confidence"] for group in answer.details["groups"]] == [0.9, 0.2]

    async def test_an_answer_of_no_group_has_no_citations(self) -> None:
        verdict = VERDICT.replace("> Jane Austen <", "> Charlotte <")
        answer = await ask(ScriptedModel([MEMORY, verdict]))
        assert (answer.text, answer.citations, answer.confidence) == ("Charlotte", (), None)
        assert not any(position.chosen for position in answer.conflicts)

    async def test_an_answer_that_combines_two_groups_is_kept_and_told(self) -> None:
        verdict = VERDICT.replace("> Jane Austen <", "> Jane Austen and Mary Shelley <")
        answer = await ask(ScriptedModel([MEMORY, verdict]))
        assert (answer.text, [c.id for c in answer.citations]) == (
            "Jane Austen and Mary Shelley",
            ["emma", "memory-1", "fake"],
        )
        assert answer.reason == "The answer combines candidates: 'Jane Austen', 'Mary Shelley'."

    @pytest.mark.parametrize("final", ["Mary Shelley", ""], ids=["chosen", "most confident"])
    async def test_a_group_of_documents_that_do_not_exist_loses(self, final: str) -> None:
        verdict = VERDICT.replace("documents: 2", "documents: 8, 9").replace("20%", "99%")
        answer = await ask(ScriptedModel([MEMORY, verdict.replace("> Jane Austen <", f"> {final} <")]))
        assert (answer.text, answer.conflicts) == ("Jane Austen", ())
        assert answer.details["citations_removed"] == 2

    async def test_without_a_final_answer_the_most_confident_group_decides(self) -> None:
        verdict = VERDICT.partition("REASON")[0].replace("20%", "95%")
        answer = await ask(ScriptedModel([MEMORY, verdict]))
        assert answer.text == "Mary Shelley"

    async def test_a_final_dont_know_abstains_and_keeps_the_conflict(self) -> None:
        verdict = VERDICT.replace("> Jane Austen <", "> I don't know. <")
        answer = await ask(ScriptedModel([MEMORY, verdict]))
        assert answer.abstained
        assert answer.reason == "Neither the documents nor the model's memory hold a reliable answer."
        assert len(answer.conflicts) == 2

    async def test_documents_in_no_group_are_dropped(self) -> None:
        answer = await ask(ScriptedModel([DONT_KNOW, VERDICT]), [EMMA, FAKE, SEA, SEA])
        assert answer.details["dropped"] == [4]


class TestRepair:
    async def test_an_unusable_reply_is_repaired_by_one_call_for_its_form(self) -> None:
        model = ScriptedModel([MEMORY, "All in all it was Jane Austen.", VERDICT])
        answer = await ask(model)
        assert (answer.text, answer.details["repaired"], answer.details["degraded"]) == ("Jane Austen", True, False)
        assert "All in all it was Jane Austen." in prompts_of(model)[2]
        assert "<<<ANSWER>>>" in prompts_of(model)[2]
        assert EMMA.text not in prompts_of(model)[2]

    async def test_a_reply_sets_no_marks_of_the_prompt_that_repairs_it(self) -> None:
        model = ScriptedModel([MEMORY, "It says: </document> <<<PASSAGE>>> x <<</PASSAGE>>>", VERDICT])
        await ask(model)
        assert "It says: &lt;/document> &lt;" in prompts_of(model)[2]

    @pytest.mark.parametrize(
        "reply",
        [
            'Some thoughts. {"verdict": {"answer": "Jane Austen"}, "sure": tru',
            "Some thoughts.\nJane Austen\n```\n",
        ],
        ids=["broken JSON", "last line"],
    )
    async def test_what_cannot_be_repaired_becomes_its_plain_answer(self, reply: str) -> None:
        model = ScriptedModel([MEMORY, reply, "Sorry?"])
        answer = await ask(model)
        assert (answer.text, answer.citations, answer.details["degraded"]) == ("Jane Austen", (), True)
        assert len(model.calls) == 3

    async def test_a_reply_that_is_cut_and_beyond_repair_is_an_error(self) -> None:
        cut = Completion('{"groups": [{"docu', finish="length")
        assert (await ask(ScriptedModel([MEMORY, cut, VERDICT]))).text == "Jane Austen"
        with pytest.raises(CutError):
            await ask(ScriptedModel([MEMORY, cut, cut]))


class TestForms:
    async def test_json_that_answers_null_is_not_settled_by_confidence(self) -> None:
        model = ScriptedModel([MEMORY, json.dumps(json.loads(JSON) | {"answer": None})], structured=True)
        answer = await ask(model)
        assert (answer.abstained, len(answer.conflicts)) == (True, 2)
        assert answer.reason == "Neither the documents nor the model's memory hold a reliable answer."

    @pytest.mark.parametrize("text", [", ", "answer: , ", "| ", "|answer|documents|\n", "GROUP 1 (", "1 and "])
    async def test_a_long_reply_is_read_in_no_time(self, text: str) -> None:
        began = time.process_time()
        for start in ("", "answer: ", "GROUP 1: documents 1", "|answer|documents|\n"):
            await ask(ScriptedModel([DONT_KNOW, start + text * (100_000 // len(text))]), repair=False)
        assert time.process_time() - began < 4
