"""Rows from QAMR (question, sentence, answer) and from pairs of a question and its answering sentence."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rqa_train.reader.neighbours import Neighbours
from rqa_train.reader.rows import HELD_OUT, Row, place

from .people import style

_TITLED = 0.6  # share of untitled passages that get their topic as title


def held_out(text: str) -> bool:
    """Return whether a sentence or title is held out."""
    return place(text) < HELD_OUT


def load_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSONL file."""
    with path.open("rb") as lines:
        return [msgspec.json.decode(line) for line in lines]


def qamr_rows(path: Path, rng: random.Random, *, held: bool, share: float = 1.0, absent: float = 0.3) -> Iterator[Row]:
    """Yield QAMR's questions with paragraphs around their sentence.

    With `held`, yield only held-out sentences. `share` is the share of questions to keep. For a share `absent` of
    these, the answering sentence is removed from the paragraph.
    """
    asked = [entry for entry in load_jsonl(path) if held_out(entry["context"]) == held]
    text = {entry["id"].split("/")[0]: entry["context"] for entry in asked}
    articles: dict[str, list[str]] = defaultdict(list)
    for key in sorted(text, key=_place):
        articles[key.rsplit(":", 2)[0]].append(key)
    keys = list(text)
    index = Neighbours([text[key] for key in keys])
    topics = {name: index.topic([text[key] for key in article]) for name, article in articles.items()}
    for entry in asked:
        if rng.random() > share:
            continue
        question = style(entry["question"], rng)
        key = entry["id"].split("/")[0]
        article = articles[key.rsplit(":", 2)[0]]
        title = topics[key.rsplit(":", 2)[0]] if rng.random() < _TITLED else ""
        at = article.index(key)
        near = article[max(0, at - rng.randint(0, 3)) : at + 1 + rng.randint(0, 3)]
        similar = [keys[n] for n in index.nearest(entry["question"] + " " + text[key], 8) if keys[n] not in near]
        rng.shuffle(similar)
        others = similar[: max(0, rng.randint(1, 4) - len(near) + 1)]
        if rng.random() < absent and _specific(entry["question"]):
            rest = [text[other] for other in [*near, *others, *similar[:1]] if other != key]
            if rest:
                yield Row(question, " ".join(rest), title, source="qamr")
            continue
        before = rng.randint(0, len(others))
        parts = [text[o] for o in others[:before]] + [text[o] for o in near] + [text[o] for o in others[before:]]
        sentence = text[key]
        shift = sum(len(part) + 1 for part in parts[: parts.index(sentence)])
        answer, start = entry["answer"], entry["answer_start"]
        if sentence[start : start + len(answer)] == answer and _useful(entry["question"], answer):
            yield Row(question, " ".join(parts), title, [answer], start + shift, source="qamr")


def _place(key: str) -> tuple[str, int, int]:
    article, paragraph, sentence = key.rsplit(":", 2)
    return article, int(paragraph), int(sentence)


def _specific(question: str) -> bool:
    """Return whether a question is specific: "Who spoke?" may be answered by any paragraph."""
    return len([word for word in re.findall(r"\w+", question) if len(word) > 3]) >= 4


def _useful(question: str, answer: str) -> bool:
    """Return whether an answer is useful: not a pronoun and not only words of the question."""
    words = set(re.findall(r"\w+", answer.lower()))
    return not words <= set(re.findall(r"\w+", question.lower())) and not words <= _PRONOUNS


_PRONOUNS = frozenset("he she it they him her his its their them we you i who which that this these those".split())


def sentence_rows(path: Path, rng: random.Random, *, held: bool, first: int = 0, absent: float = 0.6) -> Iterator[Row]:
    """Yield questions with the sentences around their answering sentence, and a share `absent` also without it.

    Those without it keep its neighbours and the most similar sentences.
    `first` rows of the file are skipped (SQuAD's development articles, which are test data). Blocks of _BLOCK pairs are
    held out together, so that neighbours stay in the same part. If the question asks for a number or a date and the
    sentence has exactly one, that is the answer. Otherwise only the sentence is known.
    """
    all_pairs = [(clean(pair["question"]), clean(pair["sentence"])) for pair in load_jsonl(path)[first:]]
    blocks = [all_pairs[at : at + _BLOCK] for at in range(0, len(all_pairs), _BLOCK)]
    pairs = [pair for block in blocks if held_out(block[0][1]) == held for pair in block]
    sentences = list(dict.fromkeys(sentence for _, sentence in pairs))
    place = {sentence: n for n, sentence in enumerate(sentences)}
    index = Neighbours(sentences)
    for question, sentence in pairs:
        at = place[sentence]
        title = index.topic(sentences[max(0, at - 15) : at + 15]) if rng.random() < _TITLED else ""
        low, high = max(0, at - rng.randint(0, 3)), at + 1 + rng.randint(0, 3)
        parts = sentences[low:high]
        similar = [sentences[n] for n in index.nearest(question, 4) if not low <= n < high]
        asked = style(question, rng)
        if rng.random() < absent:
            rest = [part for part in parts if part != sentence] + similar[: rng.randint(1, 3)]
            rng.shuffle(rest)
            if rest:
                yield Row(asked, " ".join(rest), title, source="sentences")
        if similar and rng.random() < 0.5:
            parts.insert(rng.randint(0, len(parts)), similar[0])
        shift = sum(len(part) + 1 for part in parts[: parts.index(sentence)])
        sure = _sure(question, sentence)
        text = " ".join(parts)
        if sure:
            yield Row(asked, text, title, [sentence[sure[0] : sure[1]]], sure[0] + shift, source="sentences")
        else:
            yield Row(asked, text, title, within=(shift, shift + len(sentence)), source="sentences")


_BLOCK = 60  # consecutive pairs, mostly of one article

_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_DATE = (
    rf"(?:(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)? ?,? \d{{4}}|\d{{1,2}} (?:{_MONTH}),? \d{{4}}"
    rf"|(?:{_MONTH}),? \d{{4}}|(?:{_MONTH}) \d{{1,2}})"
)
_YEAR = r"\b(?:1\d{3}|20\d\d)s?\b"
_COUNT = (
    r"(?:about |around |nearly |over |more than |approximately )?\$?\b(?:\d[\d,.]*\d|\d)"
    r"(?: (?:million|billion|trillion|percent|%))?"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|hundreds|dozens)\b"
)
_ASKED = (
    (r"\b(?:what|which) year\b", _YEAR),
    (r"^when\b|\bwhat date\b|\bon what day\b", rf"\b{_DATE}\b|{_YEAR}"),
    (r"\bhow many\b|\bhow much\b|\bwhat percent", _COUNT),
)


def _sure(question: str, sentence: str) -> tuple[int, int] | None:
    for asks, shape in _ASKED:
        if re.search(asks, question):
            found = [m for m in re.finditer(shape, sentence) if m[0].strip() and m[0] not in question]
            return found[0].span() if len(found) == 1 else None
    return None


_CLITIC = re.compile(r" ('s|'re|'ve|'ll|'d|'m|n't)\b")


def clean(text: str) -> str:
    """Undo the tokenisation of the Penn Treebank."""
    text = text.replace("-lrb-", "(").replace("-rrb-", ")").replace("``", '"').replace("''", '"').replace("--", "–")
    text = _CLITIC.sub(r"\1", text)
    text = re.sub(r"(?<=\d) ,(?= \d{4})", ",", text)
    text = re.sub(r" ([,.;:?!)%])", r"\1", text)
    text = re.sub(r"([($]) ", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()
