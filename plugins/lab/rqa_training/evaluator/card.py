"""Write the model card: kind, origin and quality of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from rqa_t5.folder import Settings, file_digest

from .conversion import TOLERANCE, Proof

CARD = "MODEL_CARD.md"
_MADE, _PROOF = "Made by\n", "\n## Proof\n"
_SHAPES = {
    "label": "a T5 that generates one of two labels; the score compares their likelihoods",
    "classifier": "a T5 with a classification head; the decoder reads the input again, which is slow",
    "cross-encoder": "a BERT that reads question and text together",
}


def history(origin: str) -> str:
    """Return the section of the card in `origin` about how that checkpoint was made, or nothing."""
    path = Path(origin, CARD)
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    section = text.partition(_MADE)[2].partition(_PROOF)[0]
    return f"\nThat checkpoint was made by\n{section}" if section else ""


def card(
    settings: Settings,
    proof: Proof,
    *,
    command: str,
    origin: str,
    quantization: str,
    data: Iterable[Path] = (),
    metrics: Mapping[str, object] | None = None,
) -> str:
    """Return the card in Markdown.

    `origin` is the checkpoint that training started from, `data` the training files, `metrics` the measurements. The
    card repeats how `origin` was made.
    """
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "transformers", "ctranslate2"))
    files = ", ".join(map(_with_digest, data))
    rows = "\n".join(f"| {name} | {_format(value)} |" for name, value in (metrics or {}).items())
    measured = f"\n## Metrics on held-out questions\n\n| | |\n|---|---|\n{rows}\n" if rows else ""
    thresholds = (
        "Not calibrated: `rqa evaluator calibrate` chooses thresholds."
        if settings.upper is None
        else f"Thresholds: upper {settings.upper:g}, lower {settings.lower:g}."
    )
    return f"""\
# Model card

This evaluator scores from -1 to 1 whether a text answers a question. It is {_SHAPES[settings.shape]}.
It reads at most {settings.length} tokens of question and text. {thresholds}

{_MADE}
    {command}

from {origin}; {versions}; weights in {quantization}. The licences of the original weights and of the training data
apply{files and f". Trained on: {files}"}.
{history(origin)}{_PROOF}
On sample pairs, fp32 logits of torch and CTranslate2 differ by at most {proof.exact:.1e} ({TOLERANCE:g} is allowed,
relative to the largest logit above 1). Quantised scores differ by at most {proof.quantised:.1e}.
{measured}"""


def _with_digest(path: Path) -> str:
    return f"{path.name} (SHA-256 {file_digest(path)})" if path.is_file() else path.name  # a pipe cannot be read again


def _format(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
