"""Write the model card and the notice: kind, origin, licences and quality of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rqa_embedded.engine import PACKAGED, file_digest

from .. import card as cards
from .. import loop
from .calibrate import MIN_ROWS

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
_OWN = """
The weights in this folder, and no teacher's, were trained on rows of {name}, {count:,} with those held out,
under whatever licence these have.
"""


def notice(base: Path | None, teachers: Sequence[Path] = (), *, own: Iterable[tuple[Path, int]] = ()) -> str:
    """Return the notice: the origin of the initial weights (`base`; None: the packaged model), data and teachers.

    `own` lists the files of rows and their numbers of rows.
    """
    text = _origin(base or PACKAGED)
    for path, count in own:
        line = _OWN.format(count=count, name=cards.named(path))
        text += "" if line in text else line
    for origin in map(_origin, teachers):
        text += "" if origin in text else _TEACHER.format(origin=origin)
    return text


def history(base: Path | None) -> str:
    """Return how the model in `base` was made, or nothing."""
    return cards.history(base or PACKAGED, _BEFORE)


def taught(teacher: Path) -> str:
    """Return how the teacher was made."""
    return cards.history(teacher, "A model whose scores it learnt", _BEFORE)


def _origin(base: Path) -> str:
    notice_file, weights = base / "NOTICE", base / "model.safetensors"
    if notice_file.exists():
        return notice_file.read_text(encoding="utf-8")
    known = _KNOWN.get(file_digest(weights)) if weights.exists() else None
    return known or _OTHER_BASE.format(base=base.name)


def card(metrics: Mapping[str, float], plan: loop.Plan, *, command: str, notice_text: str, earlier: str = "") -> str:
    """Return the card in Markdown; `notice_text` is the notice, `earlier` the history."""
    settings = ", ".join(f"{name} {value:g}" for name, value in asdict(plan).items())
    few = metrics.get("held out", MIN_ROWS) < MIN_ROWS
    calibrated = "as in the initial model, because there are too few rows" if few else "on the same rows"
    return f"""\
# Model card

An extractive reader for English: an encoder with start and end scores for each token, and a score for whether the
passage has an answer. It marks words of a passage. It does not reason over several passages, count, or know facts.

{cards.made(command, f"with {settings}", earlier)}
The seed fixes order and rows. Metrics vary in the last digit with the number of threads.
{cards.measured(metrics)}
EM and F1 are SQuAD's, in per cent, for the best span of one passage. AUC separates passages with the answer from
passages without. `difference` is the largest difference of fp32 scores between torch and CTranslate2.
The confidence is calibrated {calibrated} (reader.json).

## Data and licences

{notice_text}"""
