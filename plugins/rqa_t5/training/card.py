"""The model card: what the model is, how it was made, and how good it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from ..folder import Settings, file_digest
from .conversion import AGREEMENT, Proof

CARD = "MODEL_CARD.md"
_MADE, _PROOF = "Made by\n", "\n## Proof\n"
_SHAPES = {
    "label": "a T5 that says one of two labels; the score compares their likelihoods",
    "classifier": "a T5 with a classification head; the decoder reads the input again, which is slow",
    "cross-encoder": "a BERT that reads question and text together",
}


def history(origin: str) -> str:
    """How the checkpoint in the folder `origin` was made, as its card tells; empty where there is none."""
    path = Path(origin, CARD)
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""  # of anybody's making
    told = text.partition(_MADE)[2].partition(_PROOF)[0]
    return f"\nThat checkpoint was made by\n{told}" if told else ""


def card(
    settings: Settings,
    proof: Proof,
    *,
    command: str,
    origin: str,
    quantization: str,
    data: Iterable[Path] = (),
    figures: Mapping[str, object] | None = None,
) -> str:
    """The card in Markdown; `origin` is the checkpoint that the weights come from, `figures` what was measured.

    `data` are the files that it was then trained on.
    What a card beside that checkpoint tells of how it was made is told again.
    """
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "transformers", "ctranslate2"))
    files = ", ".join(map(_named, data))
    rows = "\n".join(f"| {name} | {_told(value)} |" for name, value in (figures or {}).items())
    measured = f"\n## Measured on questions held out of training\n\n| | |\n|---|---|\n{rows}\n" if rows else ""
    thresholds = (
        "Not calibrated: `rqa evaluator calibrate` chooses thresholds."
        if settings.upper is None
        else f"Thresholds that suit its scores: upper {settings.upper:g}, lower {settings.lower:g}."
    )
    return f"""\
# Model card

A judge of whether a text answers a question: {_SHAPES[settings.shape]}. It reads {settings.length} tokens of question
and text, and gives a score in [-1, 1]. {thresholds}

{_MADE}
    {command}

from {origin}; {versions}; weights in {quantization}. Its licence is that of the weights it comes from and of the data
it was trained on{files and f": {files}"}.
{history(origin)}{_PROOF}
On sample pairs the largest difference of a logit between torch and CTranslate2, both in fp32, is {proof.exact:.1e}
({AGREEMENT:g} is allowed, of the largest logit where that is above 1); after quantisation scores differ by at most
{proof.quantised:.1e}.
{measured}"""


def _named(path: Path) -> str:
    return f"{path.name} (SHA-256 {file_digest(path)})" if path.is_file() else path.name  # a pipe is read once


def _told(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
