from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standins.model import prompts_of

from robust_qa import Completion, ContextError, Passage, RefusedError, RqaError
from robust_qa.testing import ScriptedModel
from rqa_lab.baselines.robustrag import RobustRag
from rqa_lab.baselines.robustrag.keywords import certified, kept  # private: against every attack on small sets

A, AB = frozenset("a"), frozenset("ab")


class TestCertificate:
    @pytest.mark.parametrize(
        ("readings", "expected"),
        [
            ([A] * 10, 2),  # min(3, 0.3 x 10) = 3; with three corrupted passages, they bring keywords of their own
            (
                [A, A, A, A, *[None] * 6],
                1,
            ),  # 0.3 x (4 + 1) = 1.5: four of nine speak
            ([A, A, A, AB, AB, *[frozenset()] * 5], 0),  # b has 2, which one more would make 3
        ],
    )
    def test_what_no_attack_can_change_is_certain(self, readings: list[frozenset[str] | None], expected: int) -> None:
        assert certified(readings, 0.3, 3) == expected

    @given(
        st.lists(st.none() | st.frozensets(st.sampled_from("abcd")), min_size=1, max_size=6),
        st.lists(st.none() | st.frozensets(st.sampled_from("abcd")), min_size=1, max_size=2),
        st.sampled_from([0.3, 0.5, 1.0]),
        st.integers(1, 4),
    )
    def test_no_certified_attack_changes_the_keywords(
        self,
        readings: list[frozenset[str] | None],
        injected: list[frozenset[str] | None],
        alpha: float,
        beta: int,
    ) -> None:
        attacked = [*injected, *readings[: max(len(readings) - len(injected), 0)]]
        if len(injected) <= certified(readings, alpha, beta):
            assert kept(attacked, alpha, beta) == kept(readings, alpha, beta)


TEN = [Passage(f"Text {n}. By Jane Austen.", id=str(n)) for n in range(10)]


def script(readings: Sequence[str | Completion | RqaError], by_keywords: Callable[[str], str]) -> ScriptedModel:
    """Replies to isolated readings in turn, and to keywords as told."""
    remaining = iter(readings)

    def reply(messages: list[object], decoding: object) -> str | Completion | RqaError:
        prompt = str(messages)
        return (
            next(remaining) if "one document alone" in prompt else f"<<<ANSWER>>> {by_keywords(prompt)} <<</ANSWER>>>"
        )

    return ScriptedModel(reply)


class TestKeywords:
    @staticmethod
    async def keywords(ask: Any, *readings: str | None, **options: Any) -> set[str]:
        said = [reading or "I don't know" for reading in readings]
        answer = await ask(
            RobustRag, script(said, lambda _: "x"), [Passage(str(n)) for n in range(len(said))], **options
        )
        return set(answer.details["keywords"])

    @pytest.mark.parametrize(
        ("text", "some"),
        [
            ("Emma was written by Jane Austen.", {"emma", "jane", "austen", "jane austen"}),
            # An unlisted verb makes the run longer; the name in it is found all the same.
            ("Jane Austen penned Emma.", {"jane austen penned emma", "jane austen", "penned", "emma"}),
            ("James's boxes", {"james", "box", "james box"}),
            ("on 5 May 1815", {"5 may 1815", "1815", "5"}),
            ("It is -40 degrees.", {"-40", "-40 degree"}),
            ("It wasn't Paris.", {"paris", "it wasn't paris"}),
        ],
    )
    async def test_words_runs_and_names_are_keywords(self, ask: Any, text: str, some: set[str]) -> None:
        assert some <= await self.keywords(ask, text)

    @pytest.mark.parametrize(
        ("text", "none"),
        [
            ("She was, and he may be.", {"she", "was", "and", "he", "may", "be"}),
            ("The population is 2,140,526.", {"2", "140", "526"}),
            ("It is -40 degrees.", {"40"}),
        ],
    )
    async def test_function_words_and_parts_of_numbers_are_none(self, ask: Any, text: str, none: set[str]) -> None:
        assert not none & await self.keywords(ask, text)

    @pytest.mark.parametrize(
        ("readings", "expected"),
        [
            # 10 readings: min(3, 0.3 x 10) = 3. a is in 4, b in 3, c in 2.
            (["xa", "xa xb", "xa xb", "xa xb", "xc", "xc", "x1", "x2", "x3", "x4"], {"xa", "xb", "xa xb"}),
            # 5 readings: 0.3 x 5 = 1.5, so 2 are needed.
            (["xa", "xa", "xb", "xc", "xd"], {"xa"}),
            # 2 of 10 do not abstain: 0.3 x 2 = 0.6, so 1 is enough.
            (["xa", "xb", *[None] * 8], {"xa", "xb"}),
            # 20 readings: beta bounds the 6 that alpha asks for.
            (["xa"] * 3 + ["xb"] * 2 + [f"y{n}" for n in range(15)], {"xa"}),
        ],
    )
    async def test_a_keyword_needs_the_lesser_of_beta_and_alpha_n(
        self, ask: Any, readings: Sequence[str | None], expected: set[str]
    ) -> None:
        assert await self.keywords(ask, *readings, alpha=0.3, beta=3) == expected


class TestStrategy:
    AUSTEN, SHELLEY, NOTHING = "Jane Austen wrote Emma.", "It was Mary Shelley.", "I don't know"

    async def test_each_passage_is_read_alone_and_keywords_are_all_that_is_read_of_them(self, ask: Any) -> None:
        model = script([self.AUSTEN] * 6 + [self.SHELLEY] * 2 + [self.NOTHING] * 2, lambda _: "Jane Austen")
        answer = await ask(RobustRag, model, TEN)
        assert answer.text == "Jane Austen"
        for number, prompt in enumerate(prompts_of(model)[:10]):
            assert prompt.count("<document ") == 1 and f"Text {number}." in prompt
        assert "jane austen wrote emma\njane austen\n" in prompts_of(model)[10]  # the longest first
        assert "shelley" not in prompts_of(model)[10] and "Text" not in prompts_of(model)[10]

    async def test_readings_without_an_answer_abstain_before_the_last_call(self, ask: Any) -> None:
        answer = await ask(RobustRag, script([self.NOTHING] * 10, str), TEN)
        assert answer.reason == "No passage has an answer."

    async def test_a_reading_that_says_so_in_the_end_abstains_too(self, ask: Any) -> None:
        excuse = "The document does not mention who wrote Emma. I don't know."
        model = script([excuse] * 9 + [self.AUSTEN], lambda prompt: "Jane Austen" if "austen" in prompt else "document")
        answer = await ask(RobustRag, model, TEN)
        assert (answer.text, [c.id for c in answer.citations]) == ("Jane Austen", ["9"])

    @pytest.mark.parametrize("error", [RefusedError("A filter."), ContextError("Too long.")])
    async def test_a_passage_that_is_refused_takes_no_other_along(self, ask: Any, error: RqaError) -> None:
        model = script([error, self.AUSTEN], lambda _: "Jane Austen")
        assert [c.id for c in (await ask(RobustRag, model, TEN[:2])).citations] == ["1"]
        with pytest.raises(type(error)):
            await ask(RobustRag, script([error] * 2, str), TEN[:2])

    async def test_what_cannot_change_the_keywords_is_certified(self, ask: Any) -> None:
        # All ten agree. k' = 1 and 2: the threshold is 3, nine and eight readings are left. k' = 3: 3 <= 3.
        model = script([self.AUSTEN] * 10, lambda _: "Jane Austen")
        answer = await ask(RobustRag, model, TEN)
        assert (answer.details["certified"], len(model.calls)) == (2, 11)
