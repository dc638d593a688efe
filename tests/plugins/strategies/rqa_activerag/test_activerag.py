import json
from collections.abc import Callable
from typing import Any

import pytest
from standins.model import prompts_of, toolbox_over

from robust_qa import Answer, Message, Passage
from robust_qa.testing import ScriptedModel
from rqa_activerag import ActiveRag

QUESTION = "Who wrote Emma?"
EMMA = Passage("Emma came out in 1815. Jane Austen wrote it.", id="emma", title="Emma", source="emma.txt")
FAKE = Passage("Emma was written by Mary Shelley in 1818.", id="fake", title="Fake")

THOUGHT = "Emma is an old novel. I believe that Mary Shelley wrote it.\n<<<ANSWER>>> Mary Shelley <<</ANSWER>>>"
KNOWLEDGE = "- Emma came out in 1815, and Jane Austen wrote it [1].\n- One document names Mary Shelley [2]."
REVISION = """\
CORRECTION
before: Mary Shelley wrote Emma.
after: Jane Austen wrote Emma.
documents: 1

THOUGHT: Emma came out in 1815, and Jane Austen wrote it.
DOCUMENTS: 1
<<<ANSWER>>> Jane Austen <<</ANSWER>>>"""
JSON = json.dumps(
    {
        "corrections": [{"before": "Mary Shelley wrote Emma.", "after": "Jane Austen wrote Emma.", "documents": [1]}],
        "thought": "Emma came out in 1815, and Jane Austen wrote it.",
        "documents": [1],
        "answer": "Jane Austen",
    }
)
REPLIES = {"inquire": THOUGHT, "assimilate": KNOWLEDGE, "accommodate": REVISION, "conclude": REVISION}
# What only the prompt of that instruction says, to both agents that have it.
TELLING = {
    "anchoring": ("new to you", "unfamiliar"),
    "association": ("connect with what you know", "goes deeper"),
    "reasoning": ("causes and effects", "where the chain breaks"),
    "reflection": ("contradicts you", "mistaken belief"),
}


def role(prompt: str) -> str:
    """Which agent is asked."""
    if "You have no documents" in prompt:
        return "inquire"
    if "You study documents" in prompt:
        return "assimilate"
    return "accommodate" if "You check your own reasoning" in prompt else "conclude"


def instruction(prompt: str) -> str:
    (found,) = [name for name, words in TELLING.items() if any(word in prompt for word in words)]
    return found


def by_role(**replies: str) -> Callable[[list[Message], Any], str]:
    return lambda messages, _: {**REPLIES, **replies}[role(messages[0].content)]


def scripted(structured: bool = False, **replies: str) -> ScriptedModel:
    return ScriptedModel(by_role(**replies), structured=structured)


async def ask(
    model: ScriptedModel, passages: list[Passage] | None = None, question: str = QUESTION, **options: Any
) -> Answer:
    toolbox = toolbox_over(model, [EMMA, FAKE] if passages is None else passages, question=question)
    return await ActiveRag(ActiveRag.Options(**options)).answer(question, toolbox)


def prompts(model: ScriptedModel) -> dict[str, str]:
    """Each agent's prompt, by its role."""
    return {role(prompt): prompt for prompt in prompts_of(model)}


class TestAgents:
    @pytest.mark.parametrize("name", list(TELLING))
    async def test_an_instruction_tells_both_agents_how_to_learn(self, name: str) -> None:
        model = scripted()
        await ask(model, instructions=[name])
        found = prompts(model)
        assert instruction(found["assimilate"]) == instruction(found["accommodate"]) == name

    async def test_the_default_is_association_at_temperature_0_2(self) -> None:
        model = scripted()
        await ask(model)
        assert instruction(prompts(model)["assimilate"]) == "association"
        assert {decoding.temperature for _, decoding in model.calls} == {0.2}

    async def test_without_passages_the_thought_is_the_answer_in_one_call(self) -> None:
        model = scripted()
        answer = await ask(model, [])
        assert (answer.text, len(model.calls)) == ("Mary Shelley", 1)
        (citation,) = answer.citations
        assert (citation.origin, citation.quote) == ("memory", "I believe that Mary Shelley wrote it.")

    async def test_without_passages_and_without_knowledge_it_abstains(self) -> None:
        answer = await ask(scripted(inquire="<<<ANSWER>>> I don't know <<</ANSWER>>>"), [])
        assert answer.abstained
        assert answer.reason.startswith("Nothing was found")


class TestAblations:
    def test_without_both_it_is_refused(self) -> None:
        with pytest.raises(ValueError, match="would be the strategy rag"):
            ActiveRag.Options(assimilation=False, accommodation=False)


class TestSeveralInstructions:
    @staticmethod
    def disagreeing(**answers: str) -> ScriptedModel:
        """Each instruction leads to its own answer. By default reflection and reasoning say Jane Austen."""
        said = answers or {"reflection": "Jane Austen", "reasoning": "It was Jane Austen", "anchoring": "Charlotte"}

        def reply(messages: list[Message], decoding: Any) -> str:
            prompt = "\n".join(message.content for message in messages)
            if role(prompt) != "accommodate":
                return REPLIES[role(prompt)]
            return REVISION.replace("> Jane Austen <", f"> {said.get(instruction(prompt), 'unknown')} <")

        return ScriptedModel(reply)

    async def test_the_answer_of_most_is_chosen_with_their_share_as_confidence(self) -> None:
        answer = await ask(self.disagreeing(), instructions=["anchoring", "reasoning", "association", "reflection"])
        assert (answer.text, answer.confidence) == ("Jane Austen", 0.5)
        chosen = [lesson["instruction"] for lesson in answer.details["lessons"] if lesson["chosen"]]
        assert chosen == ["reasoning", "reflection"]

    @pytest.mark.parametrize(
        ("answers", "chosen", "share"),
        [
            (["Mary", "Jane Austen", "Austen"], "Austen", 2 / 3),  # the words of one are in the other
            (["1871", "1902", "1871 or 1902"], "1871", 2 / 3),
            (["1871", "18711", "18711"], "18711", 2 / 3),  # whole words only
            (["Mary", "Jane"], "Mary", 1 / 2),  # of equals the first
        ],
    )
    async def test_answers_agree_if_one_has_the_words_of_the_other(
        self, answers: list[str], chosen: str, share: float
    ) -> None:
        said = dict(zip(TELLING, answers, strict=False))
        answer = await ask(self.disagreeing(**said), instructions=list(said))
        assert (answer.text, answer.confidence) == (chosen, pytest.approx(share))

    async def test_the_others_answers_and_the_thoughts_are_the_conflict(self) -> None:
        answer = await ask(self.disagreeing(), instructions=list(TELLING))
        assert [(position.text, position.chosen) for position in answer.conflicts] == [
            ("Jane Austen", True),
            ("Charlotte", False),
            ("Mary Shelley", False),
        ]

    @pytest.mark.parametrize("instructions", [[], ["reflection", "reflection"]])
    def test_none_and_one_twice_are_refused(self, instructions: list[Any]) -> None:
        with pytest.raises(ValueError, match="`instructions`"):
            ActiveRag.Options(instructions=instructions)


class TestAnswer:
    async def test_it_tells_what_was_corrected_and_from_which_passages(self) -> None:
        (correction,) = (await ask(scripted())).details["lessons"][0]["corrections"]
        (cited,) = correction["citations"]
        assert (correction["before"], correction["after"]) == ("Mary Shelley wrote Emma.", "Jane Austen wrote Emma.")
        assert (cited["number"], cited["id"], cited["quote"]) == (1, "emma", "Jane Austen wrote it.")

    async def test_an_answer_that_was_given_up_is_a_conflict_of_memory_and_passages(self) -> None:
        answer = await ask(scripted())
        assert [(p.text, [c.origin for c in p.citations], p.chosen) for p in answer.conflicts] == [
            ("Jane Austen", ["external"], True),
            ("Mary Shelley", ["memory"], False),
        ]

    async def test_an_answer_that_was_kept_is_none(self) -> None:
        answer = await ask(scripted(inquire="<<<ANSWER>>> Austen <<</ANSWER>>>"))
        assert answer.conflicts == ()

    async def test_it_cites_the_documents_that_the_reply_names_and_that_hold_the_answer(self) -> None:
        answer = await ask(scripted(accommodate=REVISION.replace("DOCUMENTS: 1", "DOCUMENTS: 2, 1, 77")))
        assert [c.id for c in answer.citations] == ["emma"]
        assert answer.details["citations_removed"] == 1

    async def test_else_those_that_corrected_the_thought(self) -> None:
        answer = await ask(scripted(accommodate=REVISION.replace("DOCUMENTS: 1", "")))
        assert [c.quote for c in answer.citations] == ["Jane Austen wrote it."]

    async def test_else_those_that_were_learnt_from_and_hold_the_answer(self) -> None:
        answer = await ask(scripted(accommodate="<<<ANSWER>>> Jane Austen <<</ANSWER>>>"))
        assert [c.id for c in answer.citations] == ["emma"]


class TestReplies:
    async def test_a_reply_without_form_gives_its_plain_answer(self) -> None:
        answer = await ask(scripted(accommodate="All in all it was\nJane Austen\n"))
        assert (answer.text, answer.details["lessons"][0]["degraded"]) == ("Jane Austen", True)


class TestPrompts:
    async def test_a_model_with_schemas_is_bound_in_the_last_call_alone(self) -> None:
        model = scripted(structured=True, accommodate=JSON)
        await ask(model)
        schemas = {role(messages[0].content): decoding.schema for messages, decoding in model.calls}
        assert (schemas["inquire"], schemas["assimilate"]) == (None, None)
        assert list((schemas["accommodate"] or {})["properties"]) == [
            *("reasoning", "corrections", "thought", "documents", "answer")
        ]
        assert "JSON" in prompts(model)["accommodate"]
