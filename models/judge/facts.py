"""Write claims about invented short facts: in other words, with another value, about another subject or property."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .contrast import CONTRADICTED, NEITHER, SUPPORTED, Made

FACTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("facts.toml").read_text(encoding="utf-8"))
FAMILIES: list[dict[str, str]] = FACTS["family"]


def _filled(form: str, **words: str) -> str:
    plain = words.get("s", "")
    name = plain.removeprefix("the ").removeprefix("a ").removeprefix("an ")
    text = form.format(S=plain[:1].upper() + plain[1:], n=name, **words)
    return text[:1].upper() + text[1:]


def _listed(family: dict[str, str], key: str) -> list[str]:
    return family[key].split(";") if key in family else []


def facts(draw: random.Random, rounds: int) -> Iterator[Made]:
    """Yield `rounds` groups of claims about one premise. A third of the premises has a fact of another family beside."""
    for _ in range(rounds):
        family = draw.choice(FAMILIES)
        premise, makers = _one(family, draw)
        beside = draw.choice([each for each in FAMILIES if each is not family])
        extra, extra_makers = _one(beside, draw)
        shown = premise = _dressed(premise, draw)
        if (chance := draw.random()) < 0.35:
            shown = f"{premise} {extra}" if chance < 0.2 else f"{extra} {premise}"
        for label, claim in makers:
            yield Made(shown, claim, label, "fact")
        if shown == premise:
            yield Made(shown, extra_makers[0][1], NEITHER, "fact")


def _dressed(premise: str, draw: random.Random) -> str:
    """Return the fact among words that do not change it."""
    around = FACTS["around"]
    if (chance := draw.random()) < 0.15:
        before = draw.choice(around["before"])
        first = premise if before.endswith(": ") else premise[:1].lower() + premise[1:]
        return premise if premise[:2].isupper() else before + first
    if chance < 0.35 and premise.endswith("."):
        return f"{premise[:-1]}{draw.choice(around['after'])}."
    if chance < 0.6 and premise.startswith("The ") and " is " in premise:
        subject, rest = premise.split(" is ", 1)
        return premise if len(subject.split()) > 4 else f"{subject}{draw.choice(around['of'])} is {rest}"
    return premise


def equal_values(draw: random.Random, rounds: int) -> Iterator[Made]:
    """Yield claims that say a value in other words, or another one."""
    families = {
        "durations": ("the notice period", "the warranty"),
        "times": ("the pool", "the library"),
        "counts": ("the seminar room", "the boat"),
    }
    for _ in range(rounds):
        kind = draw.choice(sorted(families))
        group, other = (each.split("=") for each in draw.sample(FACTS["equal"][kind], 2))
        family = draw.choice(
            [each for each in FAMILIES if any(name in each["subjects"].split(";") for name in families[kind])]
        )
        if "values" not in family:
            continue
        subject = draw.choice(family["subjects"].split(";"))
        one, two = draw.sample(group, 2)
        forms = [*family["same"].split(";"), *family["asks"].split(";")]
        premise = _dressed(_filled(draw.choice(family["same"].split(";")), s=subject, v=one), draw)
        yield Made(premise, _filled(draw.choice(forms), s=subject, v=two), SUPPORTED, "equal value")
        yield Made(premise, _filled(draw.choice(forms), s=subject, v=draw.choice(other)), CONTRADICTED, "equal value")
        if "costs" in family["same"]:
            yield Made(
                f"There is a fee for {subject}.", _filled(draw.choice(forms), s=subject, v=one), NEITHER, "equal value"
            )


def days(draw: random.Random, rounds: int) -> Iterator[Made]:
    """Yield claims about a day of the week and rules about every day, weekdays or one day."""
    table = FACTS["days"]
    week = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
    for _ in range(rounds):
        subject, other = draw.sample(table["subjects"].split(";"), 2)
        day, closed = draw.sample(week, 2)
        kind = draw.choice(("every", "weekdays", "closed"))
        form = draw.choice(table[kind].split(";"))
        premise = _filled(form, s=subject, d=closed)
        for asked_day in {day, closed}:
            claim = _filled(draw.choice(table["ask"].split(";")), s=subject, d=asked_day)
            if kind == "every" or (kind == "closed" and "except" in form and asked_day != closed):
                label = SUPPORTED
            elif kind == "weekdays":
                weekend = asked_day in week[5:]
                label = (CONTRADICTED if "only" in form or "closed" in form else NEITHER) if weekend else SUPPORTED
                if "closed" in form and not weekend:
                    label = NEITHER
            else:
                label = CONTRADICTED if asked_day == closed else NEITHER
            yield Made(premise, claim, label, "day")
        yield Made(premise, _filled(draw.choice(table["ask"].split(";")), s=other, d=day), NEITHER, "day")


def _one(family: dict[str, str], draw: random.Random) -> tuple[str, list[tuple[str, str]]]:
    """Return a fact and claims with their labels."""
    subjects, forms, asks = (_listed(family, key) for key in ("subjects", "same", "asks"))
    subject, other = draw.sample(subjects, 2)

    def said(subject: str, value: dict[str, str], yes: dict[str, str], label: str) -> tuple[str, str]:
        if draw.random() < 0.4:
            return label, _filled(draw.choice(asks), s=subject, **yes)
        return label, _filled(draw.choice(forms), s=subject, **value)

    if "pairs" in family:
        a, b, c = draw.sample(_listed(family, "pairs"), 3)
        value: dict[str, Any] = {"a": a, "b": b}
        premise = _filled(draw.choice(forms), s=subject, **value)
        return premise, [
            said(subject, value, value, SUPPORTED),
            said(subject, {"a": b, "b": a}, {"a": b, "b": a}, CONTRADICTED),
            said(other, value, value, NEITHER)
            if draw.random() < 0.5
            else said(subject, {"a": c, "b": a}, {"a": c, "b": a}, NEITHER),
        ]
    row = family.get("row", "")
    if "values" in family:
        one, two = draw.sample(_listed(family, "values"), 2)
        premise = _filled(row if draw.random() < 0.25 else draw.choice(forms), s=subject, v=one)
        return premise, [
            said(subject, {"v": one}, {"v": one}, SUPPORTED),
            said(subject, {"v": two}, {"v": two}, CONTRADICTED),
            said(other, {"v": one}, {"v": one}, NEITHER),
            said(other, {"v": two}, {"v": two}, NEITHER),
        ]
    yes, no, loose = (_listed(family, key) for key in ("yes", "no", "loose"))
    o, o2 = draw.sample(loose, 2) if loose else ("", "")
    true = draw.random() < 0.5
    mine, theirs = (yes, no) if true else (no, yes)
    premise = _filled(row if draw.random() < 0.2 else draw.choice(forms), s=subject, v=draw.choice(mine), o=o)
    found: list[tuple[str, str]] = []
    for _ in range(2):
        asking = draw.random() < 0.4
        if asking:  # the question asks for `yes`: a premise with `no` contradicts it
            found.append(
                (SUPPORTED if true else CONTRADICTED, _filled(draw.choice(asks), s=subject, y=draw.choice(yes), o=o))
            )
        else:
            found.append((SUPPORTED, _filled(draw.choice(forms), s=subject, v=draw.choice(mine), o=o)))
            found.append((CONTRADICTED, _filled(draw.choice(forms), s=subject, v=draw.choice(theirs), o=o)))
    far = (other, o) if not loose or draw.random() < 0.5 else (subject, o2)
    found.append(
        (
            NEITHER,
            _filled(draw.choice([*forms, *asks]), s=far[0], v=draw.choice([*yes, *no]), y=draw.choice(yes), o=far[1]),
        )
    )
    return premise, found
