"""Check what a language model answers: each sentence is a claim about the passages that were retrieved."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from robust_qa import Answer, Checked, Citation, Passage, Position, RqaError, Verdict
from robust_qa.kit import QUOTES, cite, contains_words, is_yes_no, language_of_question, statements, with_title
from rqa_claims import with_digits
from rqa_claims.verdicts import beside_the_loop, check_claim, is_foreign_to, missing_from
from rqa_prompts import named_documents

if TYPE_CHECKING:
    from robust_qa import Toolbox

_NUMBERS = r"\d{1,3}(?:\s*(?:,|;|and|&|-|–)\s*\d{1,3})*"
_DOCUMENT = r"(?:documents?|docs?|sources?|passages?)\.?\s*"
# [2], 【1, 3】, [Document 2], (documents 1 and 3)
_MARK = re.compile(
    rf"(?<!\s)\s*+(?:[\[【]\s*(?:{_DOCUMENT})?({_NUMBERS})\s*[\]】]|\(\s*{_DOCUMENT}({_NUMBERS})\s*\))", re.I
)
_OPPOSITE: Mapping[Verdict, Verdict] = {
    "supported": "contradicted",
    "contradicted": "supported",
    "disputed": "disputed",
    "not decided": "not decided",
}
_CLAIMS, _CHARACTERS = 100, 20_000  # of an answer that are checked; a longer one has run on
_SENTENCE = 5  # words of an answer that makes a claim without its question, too
_YES_NO = re.compile(r"\s*(yes|no)\b[,.;:!\s]*", re.IGNORECASE)


class Claims:
    """Checks each sentence of an answer as a claim about the passages that were retrieved."""

    @dataclass
    class Options:
        enabled: bool = True  # false: leave answers as the model wrote them

    def __init__(self, options: Options) -> None:
        self._options = options

    async def check(self, answer: Answer, toolbox: Toolbox) -> Answer:
        """Return `answer` with a verdict on each sentence, and the sources that support and contradict it.

        Makes no call of a language model. Without an evaluator that judges claims, only numbers and names are checked.
        The rest of a very long answer is not checked.
        """
        return await _checked(answer, toolbox) if self._options.enabled else answer


async def _checked(answer: Answer, toolbox: Toolbox) -> Answer:
    question, passages = toolbox.question.text, list(dict.fromkeys(toolbox.received))
    if answer.text is None or answer.checks or not passages:
        return answer
    text, named, reason, is_english = await beside_the_loop(passages, _read, answer.text, question, toolbox.replies)
    judging = toolbox if is_english and toolbox.judges else None
    claims, rest = _claims(text)
    check = partial(_check, question=f"{question.rstrip('? ')}?", passages=[*named, *passages], judging=judging)
    checks = [*await asyncio.gather(*(check(claim, alone=n > 0) for n, claim in enumerate(claims)))]
    if rest:
        checks.append(Checked(rest, "not decided", reason="The answer is too long to check all of it."))
    if judging and _is_short(checks) and not await _is_answered(question, checks[0].supporting, judging):
        checks = [replace(each, verdict="not decided", supporting=()) for each in checks]
    sides = list(answer.conflicts)
    if judging is None:
        citations = [*answer.citations, *(cite(passage, text) for passage in named)]
    else:
        citations = [cited for each in checks for cited in _sources(each)]
        for n, said in enumerate(await asyncio.gather(*(check(side.text) for side in sides))):
            memory = (cited for cited in sides[n].citations if cited.origin == "memory")
            sides[n] = replace(sides[n], citations=(*_sources(said), *memory))
        if sum(any(cited.origin == "external" for cited in side.citations) for side in sides) < 2:
            sides = [side for each in checks for side in _sides(each)] or sides
    closest = () if citations or sides else dict.fromkeys(each.citation for each in checks if each.citation)
    if answer.citations and all(cited.origin == "memory" for cited in answer.citations):
        reason = f"{reason} Only the model's memory says so."
    found = replace(
        answer,
        text=text,
        checks=tuple(checks),
        citations=tuple(dict.fromkeys(citations)),
        closest=answer.closest or tuple(closest)[:QUOTES],
        conflicts=tuple(sides),
        reason=f"{answer.reason} {reason}".strip(),
    )
    return replace(found, confidence=None) if found.unsupported else found


def _read(
    text: str, question: str, replies: Sequence[tuple[str, Sequence[Passage]]]
) -> tuple[str, list[Passage], str, bool]:
    """Return what `_without_marks` does, and whether question and answer are in English."""
    text, named, reason = _without_marks(text, replies)
    return text, named, reason, {*map(language_of_question, (question, text))} == {"en"}


def _claims(text: str) -> tuple[list[str], str]:
    """Return the sentences of an answer that are checked, and the rest of it, or ""."""
    spans = statements(text[:_CHARACTERS])[:_CLAIMS]
    end = spans[-1][1] if spans else 0
    return [text[slice(*span)] for span in spans], text[end:].strip()


def _is_short(checks: Sequence[Checked]) -> bool:
    """Return whether all of the answer is a supported word or two, which make a claim only with the question."""
    return [each.verdict for each in checks] == ["supported"] and len(checks[0].sentence.split()) < _SENTENCE


async def _is_answered(question: str, supporting: Sequence[Citation], judging: Toolbox) -> bool:
    """Return whether one of the sentences that support an answer likely answers the question, by `upper`.

    The judge believes a short answer that has the question's form. Of 53 wrong ones that it believed, over 141
    questions of unseen documents, the packaged evaluator doubts 28, and 1 of 40 right ones.
    """
    thresholds = None if is_yes_no(question) else judging.thresholds()
    if thresholds is None:
        return True
    with suppress(RqaError):  # the answer was paid for
        scores = await judging.score(question, [with_title(each.title, each.quote) for each in supporting])
        return max(scores) >= thresholds[0]
    return True


async def _check(
    sentence: str, *, question: str, passages: Sequence[Passage], judging: Toolbox | None, alone: bool = False
) -> Checked:
    """Return the verdict on a sentence of the answer to `question`, or if it stands `alone`, without the question."""
    found = Checked(sentence, "not decided", reason="It was not judged.")
    if judging is not None:
        with suppress(RqaError):  # the answer was paid for
            found = await _judged(sentence, "" if alone else question, passages, judging)
    return await beside_the_loop(passages, _with_missing, found, sentence, question, passages)


def _with_missing(found: Checked, sentence: str, question: str, passages: Sequence[Passage]) -> Checked:
    """Return a verdict on `sentence` with the text that has its words, and with what no text has."""
    if found.verdict == "not decided":
        standing = next((cite(each, sentence) for each in passages if contains_words(sentence, each.text)), None)
        found = replace(found, citation=standing or found.citation)
    texts = [*dict.fromkeys([question, *(part for each in passages for part in (each.title, each.text, each.date))])]
    missing = missing_from(sentence, texts)
    if not (missing or found.holds) and is_foreign_to(sentence, texts) and not _YES_NO.fullmatch(sentence):
        missing = (sentence.rstrip(".!? "),)
    return replace(found, sentence=sentence, missing=missing)


async def _judged(sentence: str, question: str, passages: Sequence[Passage], judging: Toolbox) -> Checked:
    """Return the verdict on a sentence of an answer. The first one makes a claim together with the `question`.

    "Yes" claims what the question asks, and "no" the opposite.
    """
    begins = _YES_NO.match(sentence) if is_yes_no(question) else None
    if begins is None:
        claims = [f"{question} {each}".lstrip() for each in (sentence, with_digits(sentence))]
        claims += [sentence] if len(sentence.split()) >= _SENTENCE else []
        first, *others = dict.fromkeys(claims)
        found = await check_claim(first, passages, judging)
        for claim in others:
            if found.holds:
                break
            other = await check_claim(claim, passages, judging)
            found = other if other.holds else found
        return found
    found = await check_claim(question, passages, judging)
    if begins[1].lower() == "no":
        yes, no = found.supporting, found.contradicting
        found = replace(found, verdict=_OPPOSITE[found.verdict], supporting=no, contradicting=yes)
    rest = sentence[begins.end() :]
    return await check_claim(rest, passages, judging) if rest and found.verdict == "not decided" else found


def _sources(check: Checked) -> tuple[Citation, ...]:
    """The sources that support the sentence, or the text with its words if the judge leaves it open."""
    if check.holds or check.verdict != "not decided" or check.missing or check.citation is None:
        return check.supporting if check.holds else ()
    return (check.citation,) if contains_words(check.sentence, check.citation.quote) else ()


def _sides(check: Checked) -> Iterator[Position]:
    """Yield the sentence, and what contradicts it in the words of each source."""
    if check.contradicting:
        yield Position(check.sentence, None, check.supporting, chosen=True)
        yield from (Position(cited.quote, None, (cited,)) for cited in check.contradicting[:QUOTES])


def _without_marks(text: str, replies: Sequence[tuple[str, Sequence[Passage]]]) -> tuple[str, list[Passage], str]:
    """Return an answer without marks such as [2], the documents that they name, and a remark on any that do not exist.

    The numbers are those of the documents that were shown for the last reply with such a mark. Text that a
    document has too, such as argv[1], is no mark.
    """
    named: dict[Passage, None] = {}
    unknown: dict[str, int] = {}

    def without(match: re.Match[str]) -> str:
        mark, numbers = match[0].strip(), match[1] or match[2]
        shown = next((documents for reply, documents in reversed(replies) if documents and mark in reply), ())
        before = "" if match[0] != mark else text[: match.start()].rpartition(" ")[2]
        if not shown or (before and any(before + mark in each.text for each in shown)):
            return match[0]
        valid, removed = named_documents(numbers, len(shown))
        named.update((shown[number - 1], None) for number in valid)
        if removed:
            unknown[mark] = len(shown)
        return ""

    text = _MARK.sub(without, text).strip()
    remarks = [f"The model cites {mark} of {size} documents, which does not exist." for mark, size in unknown.items()]
    return text, [*named], " ".join(remarks)
