import time
from collections.abc import Sequence

import pytest

from robust_qa import ContextError, Message, Passage
from robust_qa.kit import Prompt
from rqa_prompts.context_window import Layout, estimate_tokens, fit

PROMPT = Prompt("{passages}\n{question}")
FIELDS = {"question": "Why?"}


def characters(messages: Sequence[Message]) -> int:
    return sum(len(message.content) for message in messages)


def size(passages: Sequence[Passage]) -> int:
    return characters(fit(PROMPT, passages, FIELDS, Layout(), budget=None).messages)


PASSAGES = [Passage(f"First of {n}. Second of {n}. Third of {n}.") for n in (1, 2, 3)]


def test_a_prompt_that_fits_is_unchanged() -> None:
    fitted = fit(PROMPT, PASSAGES, FIELDS, Layout(), budget=size(PASSAGES), count=characters)
    assert not fitted.dropped and not fitted.shortened
    assert "Third of 3." in fitted.messages[0].content


def test_the_least_relevant_passage_loses_its_last_sentence_first() -> None:
    fitted = fit(PROMPT, PASSAGES, FIELDS, Layout(), budget=size(PASSAGES) - 1, count=characters)
    assert fitted.shortened == (3,) and not fitted.dropped
    content = fitted.messages[0].content
    assert "Second of 3." in content and "Third of 3." not in content and "Third of 2." in content


def test_whole_passages_go_when_sentences_are_not_enough() -> None:
    fitted = fit(PROMPT, PASSAGES, FIELDS, Layout(), budget=size(PASSAGES[:1]), count=characters)
    assert fitted.dropped == (2, 3) and not fitted.shortened
    assert "Third of 1." in fitted.messages[0].content


def test_as_much_is_kept_as_fits() -> None:
    for budget in range(size([Passage("First of 1.")]), size(PASSAGES) + 1):
        assert characters(fit(PROMPT, PASSAGES, FIELDS, Layout(), budget=budget, count=characters).messages) <= budget


def test_memory_is_cut_after_everything_retrieved() -> None:
    passages = [*PASSAGES, Passage("I remember this.", origin="memory")]
    budget = size([passages[-1]]) + 5
    fitted = fit(PROMPT, passages, FIELDS, Layout(), budget=budget, count=characters)
    assert fitted.dropped == (1, 2, 3)
    assert '<document number="4">\nI remember this.' in fitted.messages[0].content


def test_documents_are_numbered_in_prompt_order() -> None:
    content = fit(PROMPT, PASSAGES, FIELDS, Layout(order="ascending"), budget=None).messages[0].content
    assert content.index('number="1"') < content.index('number="3"')
    assert '<document number="1">\nFirst of 3.' in content


def test_memory_follows_retrieved_passages_in_every_order() -> None:
    passages = [Passage("M.", origin="memory"), *PASSAGES]
    content = fit(PROMPT, passages, FIELDS, Layout(order="ascending"), budget=None).messages[0].content
    assert content.endswith('<document number="4">\nM.\n</document>\nWhy?')


def test_a_question_longer_than_the_window_is_an_error() -> None:
    with pytest.raises(ContextError, match="prompt without passages"):
        fit(PROMPT, PASSAGES, {"question": "Why? " * 100}, Layout(), budget=100, count=characters)


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"Tower {n} | {n} m" for n in range(900)),
        "दिल्ली भारत की राजधानी है। " * 300,
        "กรุงเทพมหานคร" * 700,
    ],
)
def test_a_long_text_without_sentence_ends_is_cut_within(text: str) -> None:
    fitted = fit(PROMPT, [Passage(text), PASSAGES[0]], FIELDS, Layout(), budget=2000, count=characters)
    assert fitted.shortened == (1,) and fitted.dropped == (2,)
    assert 1400 < characters(fitted.messages) <= 2000
    shown = fitted.messages[0].content.split("\n</document>")[0]
    assert shown.endswith(" m") or "Tower" not in text  # a row is whole


def test_a_window_without_room_for_a_passage_is_an_error() -> None:
    with pytest.raises(ContextError, match="leaves no room for a passage"):
        fit(PROMPT, PASSAGES, FIELDS, Layout(), budget=size([]) + 20, count=characters)


TABLE = "Year table: " + " ".join(f"{y} {y * 7919 % 100000:05d}" for y in range(1900, 2000))


# The tokens are those of the vocabulary of Qwen2, and of Llama 3 where that has more.
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (TABLE, 1103),
        ("| 1 | 2 | 3 |\n" * 40, 400),
        ("😀🎉🚀" * 50, 400),
        ("长江是亚洲第一长河，全长约六千三百公里，发源于青藏高原的唐古拉山脉。" * 8, 248),
        ("Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και μία από τις παλαιότερες πόλεις του κόσμου. " * 8, 552),
        ("ירושלים היא עיר הבירה של מדינת ישראל והעיר הגדולה ביותר בה מבחינת אוכלוסייה. " * 8, 552),
        ("नई दिल्ली भारत की राजधानी है और यह देश का एक महत्वपूर्ण राजनीतिक केंद्र है। " * 8, 576),
        ("አማርኛ የኢትዮጵያ መደበኛ ቋንቋ ነው ። አዲስ አበባ ዋና ከተማ ናት ። " * 8, 809),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy a šestnáct žížal se vznášelo nad řekou. " * 8, 393),
        ("THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG AND RUNS AWAY FROM HERE " * 10, 211),
    ],
)
def test_the_estimate_holds_for_tables_signs_and_other_scripts(text: str, tokens: int) -> None:
    assert tokens <= estimate_tokens([Message("user", text)]) - 8 < 2.5 * tokens


def test_a_huge_prompt_is_estimated_quickly() -> None:
    began = time.monotonic()
    estimate_tokens([Message("user", "Emma, 1815. " * 500_000)])
    assert time.monotonic() - began < 1
