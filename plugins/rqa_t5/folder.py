"""A model folder: what is in it, whether it is whole, and how it is written.

model.bin, config.json, *vocabulary.json   the weights, as CTranslate2 saves them
tokenizer.json                             the tokenizer, as `tokenizers` saves it
head.npz                                   what comes after the engine, for shapes that have it
evaluator.json                             how the model is used (`Settings`)
checksums.json                             size and SHA-256 of each of these
MODEL_CARD.md                              where it comes from, and how good it is
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
CHECKSUMS = "checksums.json"
TOKENIZER = "tokenizer.json"
HEAD = "head.npz"

Shape = Literal["label", "classifier", "cross-encoder"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """evaluator.json: how the model was trained to be used.

    `shape` is "label" (a T5 that says the first label or the second), "classifier" (T5ForSequenceClassification) or
    "cross-encoder" (BERT). `upper` and `lower` are the thresholds that suit its scores, None while nobody calibrated
    them.
    """

    shape: Shape
    template: str = ""  # of a T5's input, with {question} and {passage}
    length: Annotated[int, Meta(ge=16, le=8192)] = 512  # tokens of an input; the end of a long passage is cut off
    labels: tuple[str, str] | None = None  # the tokens of "relevant" and "not relevant", for the shape label
    activation: Literal["logistic", "linear"] = "logistic"  # from a logit x: tanh(x / 2), or x cut to [-1, 1]
    upper: Annotated[float, Meta(ge=-1, le=1)] | None = None
    lower: Annotated[float, Meta(ge=-1, le=1)] | None = None
    identity: str = ""  # of weights, tokenizer and these settings


class Sum(msgspec.Struct, frozen=True):
    """What checksums.json says of a file."""

    size: int  # bytes
    sha256: str


def read_settings(folder: Path) -> Settings:
    """The settings of the model in `folder`. Raises MissingError."""
    try:
        return msgspec.json.decode((folder / SETTINGS).read_bytes(), type=Settings)
    except (OSError, msgspec.MsgspecError) as error:
        raise MissingError(f"{folder / SETTINGS} cannot be used: {error}.", hint=_hint(folder)) from error


def check(folder: Path, *, contents: bool = False) -> None:
    """Raise MissingError unless `folder` has all files in their sizes, and with `contents`, as they were written."""
    if not (folder / SETTINGS).is_file():
        raise MissingError(f"{folder} is not an evaluator's folder: it has no {SETTINGS}.", hint=_hint(folder))
    try:
        wanted = msgspec.json.decode((folder / CHECKSUMS).read_bytes(), type=dict[str, Sum])
        if lacking := {WEIGHTS, SETTINGS, TOKENIZER} - wanted.keys():
            raise MissingError(f"{folder / CHECKSUMS} does not list {min(lacking)}.", hint=_hint(folder))
        for name, written in wanted.items():
            path = folder / Path(name).name
            if path.stat().st_size != written.size or (contents and file_digest(path) != written.sha256):
                raise MissingError(f"{path} is damaged: it is not the file that was written.", hint=_hint(folder))
    except (OSError, msgspec.MsgspecError) as error:
        raise MissingError(f"The evaluator in {folder} is not whole: {error}.", hint=_hint(folder)) from error


def settle(folder: Path, settings: Settings) -> Settings:
    """Write the settings, with the identity of what is in `folder`, and the checksums of all files."""
    digest = hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(settings, identity="")))
    for name in sorted(path.name for path in folder.iterdir() if path.name in (WEIGHTS, TOKENIZER, HEAD)):
        digest.update(file_digest(folder / name).encode())
    named = msgspec.structs.replace(settings, identity=digest.hexdigest()[:24])
    (folder / SETTINGS).write_bytes(msgspec.json.format(msgspec.json.encode(named), indent=2) + b"\n")
    files = sorted(path for path in folder.iterdir() if path.suffix in (".bin", ".json", ".npz"))
    sums = {path.name: Sum(path.stat().st_size, file_digest(path)) for path in files if path.name != CHECKSUMS}
    (folder / CHECKSUMS).write_bytes(msgspec.json.format(msgspec.json.encode(sums), indent=2) + b"\n")
    return named


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hint(folder: Path) -> str:
    if folder == PACKAGED:
        return f"Install the package again: `{install_hint(again=True)}`."
    made = "`rqa train evaluator` and `rqa evaluator convert` write one"
    return f"Name a whole model folder in `model`, or write it again: {made}."
