"""Write the model card: kind, origin and quality of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rqa_t5.folder import Settings

from ..card import history, made, measured, named
from ..conversion import TOLERANCE
from .conversion import Proof

_SHAPES = {
    "label": "a T5 that generates one of two labels; the score compares their likelihoods",
    "classifier": "a T5 with a classification head; the decoder reads the input again, which is slow",
    "cross-encoder": "a BERT that reads question and text together",
}


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
    files = ", ".join(map(named, data))
    details = f"from {origin}, with weights in {quantization}{files and f', trained on {files}'}"
    section = made(command, details, history(Path(origin), "That checkpoint"))
    thresholds = (
        "Not calibrated: `rqa train thresholds` chooses thresholds."
        if settings.upper is None
        else f"Thresholds: upper {settings.upper:g}, lower {settings.lower:g}."
    )
    return f"""\
# Model card

This evaluator scores from -1 to 1 whether a text answers a question. It is {_SHAPES[settings.shape]}.
It reads at most {settings.length} tokens of question and text. {thresholds}

{section}{measured(metrics or {})}
On sample pairs, fp32 logits of torch and CTranslate2 differ by at most {proof.exact:.1e} ({TOLERANCE:g} is allowed,
relative to the largest logit above 1). Quantised scores differ by at most {proof.quantised:.1e}.

The licences of the original weights and of the training data apply.
"""
