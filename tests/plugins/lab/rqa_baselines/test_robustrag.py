from collections.abc import Awaitable, Callable, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from standins.model import ScriptedModel

from robust_qa import Answer, Completion, ContextError, Passage, RefusedError, RqaError
from rqa_baselines.robustrag import RobustRag
from rqa_baselines.robustrag.certificate import attainable, kept
from rqa_baselines.robustrag.keywords import keywords

Ask = Callable[..., Awaitable[Answer]]

A, B, C = (frozenset({letter}) for letter in "abc")
AB = A | B


class TestKeywords:
    @pytest.mark.parametrize(
        ("text", "some"),
        [
            ("Emma was written by Jane Austen.", {"emma", "jane", "austen", "jane austen"}),
            # An unlisted verb makes the run longer; the name in it is found all the same.
            ("Jane Austen penned Emma.", {"jane austen penned emma", "jane austen", "penned", "emma"}),
            ("the rivers and the cities of glasses", {"river", "city", "glass"}),
            ("James's boxes", {"james", "box", "james box"}),
            ("on 5 May 1815", {"5 may 1815", "1815", "5"}),
            ("They may stand in the US", {"us"}),
            ("The population is 2,140,526.", {"2,140,526"}),
            ("It opened at 10:30, in 1,3 or 5.", {"10:30", "1,3", "5"}),
            ("It is -40 degrees.", {"-40", "-40 degree"}),
            ("About −40.5 °C", {"-40.5"}),
            ("In 1914-1918", {"1914-1918"}),
            ("No, Bob is older.", {"no", "bob"}),
            ("no", {"no"}),
            ("Yes, Bob is older.", {"yes", "bob"}),
            ("It wasn't Paris.", {"paris", "it wasn't paris"}),
        ],
    )
    def test_words_runs_and_names_are_keywords(self, text: str, some: set[str]) -> None:
        assert some <= keywords(text)

    def test_function_words_verbs_and_punctuation_are_none(self) -> None:
        assert keywords("She was, and he may be.") == {"she was and he may be"}  # the whole reading alone

    @pytest.mark.parametrize(
        ("text", "none"),
        [
            ("The population is 2,140,526.", {"2", "140", "526"}),
            ("It is -40 degrees.", {"40"}),
            ("It wasn’t Paris.", {"wasn’t", "wasn’t paris"}),
            ("No man is an island.", {"no", "no man"}),
            ("There is no answer.", {"no"}),
        ],
    )
    def test_parts_of_numbers_and_negations_are_none(self, text: str, none: set[str]) -> None:
        assert not none & keywords(text)

    def test_the_whole_reading_is_one(self) -> None:
        assert "emma was written by jane austen" in keywords("Emma was written by Jane Austen.")

    def test_upper_and_lower_case_are_the_same(self) -> None:
        assert "jane austen" in keywords("JANE AUSTEN") & keywords("by Jane Austen")

    @given(st.text())
    def test_any_text_has_keywords_without_marks_or_spaces_around(self, text: str) -> None:
        assert all(keyword == keyword.strip() and keyword for keyword in keywords(text))


class TestKept:
    @pytest.mark.parametrize(
        ("readings", "expected"),
        [
            # 10 readings: min(3, 0.3 x 10) = 3. a stands in 4, b in 3, c in 2.
            ([A, AB, AB, AB, C, C, *[frozenset({str(n)}) for n in range(4)]], AB),
            # 5 readings: 0.3 x 5 = 1.5, so 2 are needed.
            ([A, A, B, C, frozenset()], A),
            # 2 of 10 do not abstain: 0.3 x 2 = 0.6, so 1 is enough.
            ([A, B, *[None] * 8], AB),
            # 20 readings: beta bounds the 6 that alpha asks for.
            ([A] * 3 + [B] * 2 + [frozenset()] * 15, A),
            ([None, None], frozenset()),
        ],
    )
    def test_a_keyword_needs_the_lesser_of_beta_and_alpha_n(
        self, readings: Sequence[frozenset[str] | None], expected: frozenset[str]
    ) -> None:
        assert kept(readings, 0.3, 3) == expected


class TestCertificate:
    def test_what_stands_in_enough_readings_whatever_comes_is_certain(self) -> None:
        # k' = 1 of 10: 9 are left, min(3, 0.3 x (9 + 1)) = 3. a has 9, so it stays; nothing has 2.
        assert attainable([A] * 10, 1, 0.3, 3, most=1) == [A]

    def test_what_lacks_no_more_than_the_injected_may_be_kept_or_not(self) -> None:
        # 9 are left. a has 5, b has 2, which one more would make 3, c has 1, which it would not.
        readings = [A, A, A, AB, AB, C, frozenset(), frozenset(), frozenset(), A]
        assert attainable(readings, 1, 0.3, 3, most=2) == [A, AB]

    def test_the_last_passages_fall_out(self) -> None:
        # Of [a, a, a, b, b, b] with k' = 2 there is left [a, a, a, b]: min(3, 0.5 x (4 + 2)) = 3 for a;
        # b has 1, which two more would make 3.
        assert attainable([A, A, A, B, B, B], 2, 0.5, 3, most=2) == [A, AB]

    def test_nothing_is_certain_where_the_injected_can_bring_their_own(self) -> None:
        assert attainable([A] * 10, 3, 0.3, 3, most=100) is None  # min(3, 0.3 x 10) = 3 <= 3
        assert attainable([A] * 3, 1, 0.3, 3, most=100) is None  # 0.3 x (2 + 1) = 0.9 <= 1

    def test_abstaining_readings_do_not_count(self) -> None:
        # 4 of the 9 left speak: 0.3 x (4 + 1) = 1.5.
        assert attainable([A, A, A, A, *[None] * 6], 1, 0.3, 3, most=1) == [A]

    def test_more_sets_than_may_be_tried_certify_nothing(self) -> None:
        readings = [A, A, A, AB, AB, C, C, frozenset(), frozenset(), A]
        assert attainable(readings, 1, 0.3, 3, most=3) is None  # b and c may be kept: four sets
        assert attainable(readings, 1, 0.3, 3, most=4) == [A, AB, A | C, AB | C]

    @given(
        st.lists(st.none() | st.frozensets(st.sampled_from("abcd")), min_size=1, max_size=6),
        st.lists(st.none() | st.frozensets(st.sampled_from("abcd")), min_size=1, max_size=2),
        st.sampled_from([0.3, 0.5, 1.0]),
        st.integers(1, 4),
    )
    def test_no_attack_reaches_a_set_that_was_not_foreseen(
        self,
        readings: list[frozenset[str] | None],
        injected: list[frozenset[str] | None],
        alpha: float,
        beta: int,
    ) -> None:
        sets = attainable(readings, len(injected), alpha, beta, most=1 << 10)
        attacked = [*injected, *readings[: max(len(readings) - len(injected), 0)]]
        if sets is not None:
            assert kept(attacked, alpha, beta) in sets


TEN = [Passage(f"Text {n}. By Jane Austen.", id=str(n)) for n in range(10)]


def script(readings: Sequence[str | Completion | RqaError], by_keywords: Callable[[str], str]) -> ScriptedModel:
    """Replies to isolated readings in turn, and to keywords as told."""
    remaining = iter(readings)

    def reply(messages: list[object]) -> str | Completion | RqaError:
        prompt = str(messages)
        return (
            next(remaining) if "one document alone" in prompt else f"<<<ANSWER>>> {by_keywords(prompt)} <<</ANSWER>>>"
        )

    return ScriptedModel(reply)


class TestStrategy:
    AUSTEN, SHELLEY, NOTHING = "Jane Austen wrote Emma.", "It was Mary Shelley.", "I don't know"

    async def test_each_passage_is_read_alone_and_keywords_are_all_that_is_read_of_them(self, ask: Ask) -> None:
        model = script([self.AUSTEN] * 6 + [self.SHELLEY] * 2 + [self.NOTHING] * 2, lambda _: "Jane Austen")
        answer = await ask(RobustRag, model, TEN)
        assert answer.text == "Jane Austen"
        for number, prompt in enumerate(model.prompts[:10]):
            assert prompt.count("<document ") == 1 and f"Text {number}." in prompt
        assert "jane austen wrote emma\njane austen\n" in model.prompts[10]  # the longest first
        assert "shelley" not in model.prompts[10] and "Text" not in model.prompts[10]

    async def test_the_passages_whose_readings_hold_the_answer_are_cited(self, ask: Ask) -> None:
        model = script([self.AUSTEN, self.SHELLEY, self.AUSTEN, self.NOTHING], lambda _: "Jane Austen")
        answer = await ask(RobustRag, model, TEN[:4])
        assert [c.id for c in answer.citations] == ["0", "2"]

    async def test_a_reading_with_a_number_that_holds_the_answers_digits_is_not_cited(self, ask: Ask) -> None:
        answer = await ask(RobustRag, script(["It was 1995.", "It was 5."], lambda _: "5"), TEN[:2])
        assert [c.id for c in answer.citations] == ["1"]

    async def test_readings_without_an_answer_abstain_before_the_last_call(self, ask: Ask) -> None:
        answer = await ask(RobustRag, script([self.NOTHING] * 10, str), TEN)
        assert answer.reason == "No passage has an answer."

    async def test_a_reading_that_says_so_in_the_end_abstains_too(self, ask: Ask) -> None:
        excuse = "The document does not mention who wrote Emma. I don't know."
        model = script([excuse] * 9 + [self.AUSTEN], lambda prompt: "Jane Austen" if "austen" in prompt else "document")
        answer = await ask(RobustRag, model, TEN)
        assert (answer.text, [c.id for c in answer.citations]) == ("Jane Austen", ["9"])

    async def test_one_that_abstains_is_not_cited(self, ask: Ask) -> None:
        model = script(["I don't know whether it is Jane Austen.", self.AUSTEN], lambda _: "Jane Austen")
        assert [c.id for c in (await ask(RobustRag, model, TEN[:2])).citations] == ["1"]

    async def test_a_title_that_sounds_like_it_is_a_reading(self, ask: Ask) -> None:
        model = script(['It is "I Don\'t Know How to Love Him".'], lambda _: "I Don't Know How to Love Him")
        assert (await ask(RobustRag, model, TEN[:1])).text == "I Don't Know How to Love Him"

    async def test_a_reading_that_is_cut_before_it_began_is_left_out(self, ask: Ask) -> None:
        cut = Completion("<think>Let me see", finish="length")
        model = script([cut, self.AUSTEN], lambda _: "Jane Austen")
        assert [c.id for c in (await ask(RobustRag, model, TEN[:2])).citations] == ["1"]

    @pytest.mark.parametrize("error", [RefusedError("A filter."), ContextError("Too long.")])
    async def test_a_passage_that_is_refused_takes_no_other_along(self, ask: Ask, error: RqaError) -> None:
        model = script([error, self.AUSTEN], lambda _: "Jane Austen")
        assert [c.id for c in (await ask(RobustRag, model, TEN[:2])).citations] == ["1"]
        with pytest.raises(type(error)):
            await ask(RobustRag, script([error] * 2, str), TEN[:2])

    async def test_a_wrong_key_is_no_matter_of_one_passage(self, ask: Ask) -> None:
        with pytest.raises(ExceptionGroup):
            await ask(RobustRag, script([RefusedError("Key.", general=True), self.AUSTEN], str), TEN[:2])

    async def test_readings_that_share_nothing_do_too(self, ask: Ask) -> None:
        answer = await ask(RobustRag, script([f"Word{n}." for n in range(10)], str), TEN)
        assert answer.reason == "No keyword stands in enough of the readings."

    async def test_without_passages_it_abstains(self, ask: Ask) -> None:
        assert (await ask(RobustRag, ScriptedModel([]), [])).reason == "No passage has an answer."

    async def test_what_cannot_change_the_keywords_is_certified_for_nothing(self, ask: Ask) -> None:
        # All ten agree. k' = 1 and 2: the threshold is 3, nine and eight readings are left. k' = 3: 3 <= 3.
        model = script([self.AUSTEN] * 10, lambda _: "Jane Austen")
        answer = await ask(RobustRag, model, TEN)
        assert (answer.details["certified"], len(model.calls)) == (2, 11)

    async def test_the_certificate_tries_every_set_that_an_attack_can_reach(self, ask: Ask) -> None:
        # a in all ten, b in two: with k' = 1 {a, b} is reached besides {a}, so one more call. k' = 2 likewise.
        readings = ["alpha"] * 8 + ["alpha, beta"] * 2
        model = script([*reversed(readings)], lambda prompt: "Alpha")
        answer = await ask(RobustRag, model, TEN, certify_calls=3)
        assert answer.details["certified"] == 2

    async def test_an_answer_that_some_set_changes_is_not_certified(self, ask: Ask) -> None:
        readings = ["alpha, beta"] * 2 + ["alpha"] * 8
        model = script(readings, lambda prompt: "Beta" if "\\nbeta" in prompt else "Alpha")
        answer = await ask(RobustRag, model, TEN, certify_calls=3)
        assert (answer.text, answer.details["certified"]) == ("Alpha", 0)

    async def test_without_calls_to_tell_nothing_more_is_certified(self, ask: Ask) -> None:
        model = script(["alpha, beta"] * 2 + ["alpha"] * 8, lambda _: "Alpha")
        answer = await ask(RobustRag, model, TEN)
        assert (answer.details["certified"], len(model.calls)) == (0, 11)

    @pytest.mark.parametrize("options", [{"alpha": 0.0}, {"alpha": 1.5}, {"beta": 0}, {"certify_calls": -1}])
    def test_thresholds_that_mean_nothing_are_refused(self, options: dict[str, float]) -> None:
        with pytest.raises(msgspec.ValidationError, match=next(iter(options))):
            msgspec.convert(options, RobustRag.Options)
