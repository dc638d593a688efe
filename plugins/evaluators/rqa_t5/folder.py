"""Read, check and write model folders.

model.bin, config.json, *vocabulary.json   the weights, as CTranslate2 saves them
tokenizer.json                             the tokenizer, as `tokenizers` saves it
head.npz                                   the classification head of the shapes that have one
evaluator.json                             settings of the model (`Settings`)
MODEL_CARD.md                              origin and quality of the model
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from robust_qa import MissingError
from robust_qa.kit import install_hint

PACKAGED = Path(__file__).parent / "model"
WEIGHTS = "model.bin"
SETTINGS = "evaluator.json"
TOKENIZER = "tokenizer.json"
HEAD = "head.npz"

Shape = Literal["label", "classifier", "cross-encoder"]
Input = Literal["text", "title-text"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The content of evaluator.json.

    `shape` is "label" (a T5 that generates one of two labels), "classifier" (T5ForSequenceClassification) or
    "cross-encoder" (BERT). `upper` and `lower` are thresholds for the scores, or None before calibration.
    """

    shape: Shape
    template: str = ""  # input of a T5, with {question} and {passage}
    input: Input = "title-text"  # what the model reads as passage: the text alone, or "title: text"
    length: Annotated[int, Meta(ge=16, le=8192)] = 512  # maximum input in tokens; longer passages are cut
    labels: tuple[str, str] | None = None  # the tokens of "relevant" and "not relevant", for the shape label
    activation: Literal["logistic", "linear"] = "logistic"  # score of a logit x: tanh(x / 2), or x clipped to [-1, 1]
    upper: Annotated[float, Meta(ge=-1, le=1)] | None = None
    lower: Annotated[float, Meta(ge=-1, le=1)] | None = None
    identity: str = ""  # of weights, tokenizer and these settings


def read_settings(folder: Path) -> Settings:
    """Return the settings of the model in `folder`. Raises MissingError if they are missing or invalid."""
    try:
        return msgspec.json.decode((folder / SETTINGS).read_bytes(), type=Settings)
    except (OSError, msgspec.MsgspecError) as error:
        raise MissingError(f"Cannot read {folder / SETTINGS}: {error}.", hint=hint(folder)) from error


def check(folder: Path) -> None:
    """Raise MissingError if a file is missing."""
    for name in (SETTINGS, WEIGHTS, TOKENIZER):
        if not (folder / name).is_file():
            raise MissingError(f"{folder} is not a model folder: it has no {name}.", hint=hint(folder))


def settle(folder: Path, settings: Settings) -> Settings:
    """Write evaluator.json with the model's identity. Returns the settings."""
    digest = hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(settings, identity="")))
    for name in sorted(path.name for path in folder.iterdir() if path.name in (WEIGHTS, TOKENIZER, HEAD)):
        digest.update(hashlib.sha256((folder / name).read_bytes()).hexdigest().encode())
    named = msgspec.structs.replace(settings, identity=digest.hexdigest()[:24])
    (folder / SETTINGS).write_bytes(msgspec.json.format(msgspec.json.encode(named), indent=2) + b"\n")
    return named


def hint(folder: Path) -> str:
    """How to get a whole model in place of the one in `folder`."""
    if folder == PACKAGED:
        return f"Install the package again: `{install_hint(again=True)}`."
    return "Set `model` to a complete model folder, or write one with `rqa evaluator convert CHECKPOINT OUT`."
