"""Rows from QAMR (question, sentence, answer) and from pairs of a question and the sentence that answers it."""

from __future__ import annotations

import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from .neighbours import Neighbours
from .people import style
from .rows import Row

HELD_OUT = 0.08  # share of each source's sentences or titles, by hash
_TITLED = 0.6  # share of the passages without a title of their own that get their topic as one


def place(text: str) -> float:
    """Where a sentence, a title or a passage stands among all, from 0 to 1: by its hash, so always the same."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32


def held_out(text: str) -> bool:
    """Whether a sentence, or a title, is kept from training, for measuring."""
    return place(text) < HELD_OUT


def load_jsonl(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    with path.open("rb") as lines:
        return [msgspec.json.decode(line) for line in lines]


def qamr_rows(path: Path, rng: random.Random, *, held: bool, share: float = 1.0, absent: float = 0.3) -> Iterator[Row]:
    """QAMR's questions over paragraphs of their sentence's own article.

    `held` takes the held-out sentences instead of the others; `share` of the questions are kept, and for a share
    `absent` of those the answering sentence is left out of a paragraph of neighbours and look-alikes.
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
        alike = [keys[n] for n in index.nearest(entry["question"] + " " + text[key], 8) if keys[n] not in near]
        rng.shuffle(alike)
        others = alike[: max(0, rng.randint(1, 4) - len(near) + 1)]
        if rng.random() < absent and _definite(entry["question"]):
            rest = [text[other] for other in [*near, *others, *alike[:1]] if other != key]
            if rest:
                yield Row(question, " ".join(rest), title, source="qamr")
            continue
        before = rng.randint(0, len(others))
        parts = [text[o] for o in others[:before]] + [text[o] for o in near] + [text[o] for o in others[before:]]
        sentence = text[key]
        shift = sum(len(part) + 1 for part in parts[: parts.index(sentence)])
        answer, start = entry["answer"], entry["answer_start"]
        if sentence[start : start + len(answer)] == answer and _telling(entry["question"], answer):
            yield Row(question, " ".join(parts), title, [answer], start + shift, source="qamr")


def _place(key: str) -> tuple[str, int, int]:
    article, paragraph, sentence = key.rsplit(":", 2)
    return article, int(paragraph), int(sentence)


def _definite(question: str) -> bool:
    """Whether a question names enough for another paragraph not to answer it by chance ("Who spoke?" does not)."""
    return len([word for word in re.findall(r"\w+", question) if len(word) > 3]) >= 4


def _telling(question: str, answer: str) -> bool:
    """Whether an answer teaches something: one of the question's own words, or a pronoun, does not."""
    words = set(re.findall(r"\w+", answer.lower()))
    return not words <= set(re.findall(r"\w+", question.lower())) and not words <= _PRONOUNS


_PRONOUNS = frozenset("he she it they him her his its their them we you i who which that this these those".split())


def sentence_rows(path: Path, rng: random.Random, *, held: bool, first: int = 0, absent: float = 0.6) -> Iterator[Row]:
    """Questions whose answering sentence is known, over the sentences around it, and a share `absent` also without it.

    Without it there are left its neighbours and the sentences most like the question: on the topic, and no answer.
    `first` skips the file's first rows (SQuAD's development articles, which others measure on); of the rest `held`
    takes whole stretches of _STRETCH pairs, so that no neighbour is in both parts. A number or a date asked for is an
    answer where the sentence holds one alone; else the answer is learnt as standing within the sentence.
    """
    every = [(clean(pair["question"]), clean(pair["sentence"])) for pair in load_jsonl(path)[first:]]
    stretches = [every[at : at + _STRETCH] for at in range(0, len(every), _STRETCH)]
    pairs = [pair for stretch in stretches if held_out(stretch[0][1]) == held for pair in stretch]
    sentences = list(dict.fromkeys(sentence for _, sentence in pairs))
    place = {sentence: n for n, sentence in enumerate(sentences)}
    index = Neighbours(sentences)
    for question, sentence in pairs:
        at = place[sentence]
        title = index.topic(sentences[max(0, at - 15) : at + 15]) if rng.random() < _TITLED else ""
        low, high = max(0, at - rng.randint(0, 3)), at + 1 + rng.randint(0, 3)
        parts = sentences[low:high]
        alike = [sentences[n] for n in index.nearest(question, 4) if not low <= n < high]
        asked = style(question, rng)
        if rng.random() < absent:
            rest = [part for part in parts if part != sentence] + alike[: rng.randint(1, 3)]
            rng.shuffle(rest)
            if rest:
                yield Row(asked, " ".join(rest), title, source="sentences")
        if alike and rng.random() < 0.5:
            parts.insert(rng.randint(0, len(parts)), alike[0])
        shift = sum(len(part) + 1 for part in parts[: parts.index(sentence)])
        sure = _sure(question, sentence)
        text = " ".join(parts)
        if sure:
            yield Row(asked, text, title, [sentence[sure[0] : sure[1]]], sure[0] + shift, source="sentences")
        else:
            yield Row(asked, text, title, within=(shift, shift + len(sentence)), source="sentences")


_STRETCH = 60  # pairs; an article's come one after another

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
    """Undo the Penn Treebank's tokenisation, as far as a reader would notice."""
    text = text.replace("-lrb-", "(").replace("-rrb-", ")").replace("``", '"').replace("''", '"').replace("--", "–")
    text = _CLITIC.sub(r"\1", text)
    text = re.sub(r"(?<=\d) ,(?= \d{4})", ",", text)
    text = re.sub(r" ([,.;:?!)%])", r"\1", text)
    text = re.sub(r"([($]) ", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()
