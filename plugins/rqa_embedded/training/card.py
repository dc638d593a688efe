"""The model card: what the model is, what it was made of, how good it is, and how to make it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from ..engine import PACKAGED, file_digest
from .calibrate import FEW
from .train import Plan

_KNOWN = {  # by the SHA-256 of model.safetensors
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db": """\
The weights in this folder began as all-MiniLM-L6-v2 (sentence-transformers/all-MiniLM-L6-v2, Apache-2.0, by the authors
of sentence-transformers), itself made from MiniLM-L6-H384-uncased (nreimers) and MiniLM (Microsoft). They were trained
further with robust-qa. The vocabulary in tokenizer.json and vocabulary.json is theirs.
""",
    "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658": """\
The weights in this folder began as all-mpnet-base-v2 (sentence-transformers/all-mpnet-base-v2, Apache-2.0, by the
authors of sentence-transformers), itself made from MPNet (Microsoft, MIT). They were trained further with robust-qa.
The vocabulary in tokenizer.json is theirs.
""",
}
_OTHER_BASE = """\
The weights in this folder began as the encoder in {base}, and were trained further with robust-qa.
Its licence holds for them too.
"""
_TEACHER = """
They learnt the scores of another model, too, which is not in this folder. Of that one this holds:

{origin}"""
_BEFORE = "The model that it started from"
_MADE, _MEASURED = "Made by\n", "| measured on rows held out of training"
_CORPORA = """
They were trained on
- QAMR (Michael, Stanovsky, He, Dagan and Zettlemoyer, 2018; MIT): questions about sentences of Wikipedia and Wikinews;
- sentence and question pairs of SQuAD 1.1 (Rajpurkar, Zhang, Lopyrev and Liang, 2016; CC BY-SA 4.0), without those of
  its development articles, which stand in other test sets;
- passages of Wikipedia about people (CC BY-SA, by Wikipedia's authors), with questions made by rules;
- made-up facts of this project.
None of these texts is in this folder.
"""
_OWN = """
The weights in this folder, and no teacher's, were trained on rows of {name}, {count:,} with those held out,
under whatever licence these have.
"""


def notice(
    base: Path | None, teachers: Sequence[Path] = (), *, corpora: bool, own: Iterable[tuple[Path, int]] = ()
) -> str:
    """Whose work the weights rest on, that began as those in `base` (None: the packaged ones) and had `teachers`.

    `own` are the files of rows beside `corpora`, with how many each has.
    """
    origin = _origin(base or PACKAGED)
    told = origin + (_CORPORA if corpora and _CORPORA not in origin else "")
    for path, count in own:
        name = f"{path.name} (SHA-256 {file_digest(path)})" if path.is_file() else path.name  # a pipe is read once
        line = _OWN.format(count=count, name=name)
        told += "" if line in told else line
    for origin in map(_origin, teachers):
        told += "" if origin in told else _TEACHER.format(origin=origin)
    return told


def history(base: Path | None) -> str:
    """How the model in `base` was made, as its card tells; empty where there is none."""
    told = _made(base or PACKAGED)
    return f"{_BEFORE} was made by\n{told}" if told else ""


def taught(teacher: Path) -> str:
    """How the model in `teacher` was made, whose scores were learnt."""
    told = _made(teacher).partition(_BEFORE)[0]
    return f"A model whose scores it learnt was made by\n{told}" if told else ""


def beside(run: Path) -> str:
    """How the run in `run` was made, with which a mean was taken; both began with the same weights."""
    told = _made(run / "model").partition(_BEFORE)[0]
    return f"Its weights are the mean with those of a run made by\n{told}" if told else ""


def _made(model: Path) -> str:
    path = model / "MODEL_CARD.md"
    return path.read_text(encoding="utf-8").partition(_MADE)[2].partition(_MEASURED)[0] if path.exists() else ""


def _origin(base: Path) -> str:
    told, weights = base / "NOTICE", base / "model.safetensors"
    if told.exists():
        return told.read_text(encoding="utf-8")
    known = _KNOWN.get(file_digest(weights)) if weights.exists() else None
    return known or _OTHER_BASE.format(base=base.name)


def card(
    figures: Mapping[str, float], plan: Plan, *, command: str, torch: str, rests_on: str, earlier: str = ""
) -> str:
    """The card in Markdown; `rests_on` is the notice, `earlier` the history."""
    rows = "\n".join(f"| {name} | {_told(value)} |" for name, value in figures.items())
    settings = ", ".join(f"{name} {value:g}" for name, value in asdict(plan).items())
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("transformers", "ctranslate2", "tokenizers"))
    few = figures.get("held out", FEW) < FEW
    calibrated = "as in the model before: these rows are too few" if few else "on the same rows"
    return f"""\
# Model card

An extractive reader: an encoder with a start and an end score for each token, and a score for the answer being
there. English. It points at words of a passage; it does not reason over several, count, or know anything by itself.

{_MADE}
    {command}

with {settings}; torch {torch}, {versions}. Order and rows follow from the seed; figures vary in the last digit with the
number of threads.

{earlier}{_MEASURED} | |
|---|---|
{rows}

EM and F1 are SQuAD's, in per cent, of the best span of one passage; AUC tells the passages of a question that hold its
answer from those that do not.
`difference` is the largest between a score in torch and in CTranslate2, both in fp32.
The confidence is calibrated {calibrated} (reader.json).

## Data and licences

{rests_on}"""


def _told(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
