"""From a trained model to the folder that the reader loads: int8 weights, heads, tokenizer, settings, checksums."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from robust_qa import RqaError

from ..engine import CHECKSUMS, Marking, Settings, file_digest
from .encoding import Example
from .model import HEADS, SpanReader, save_heads

AGREEMENT = 1e-4  # largest difference of a score between torch and CTranslate2, both fp32


def convert(
    model: SpanReader, tokenizer_file: Path, out: Path, settings: Settings, *, quantization: str = "int8"
) -> None:
    """Write `out`, a folder that `Engine` loads; "float32" keeps the weights as they are."""
    from ctranslate2.converters import TransformersConverter
    from transformers import BertTokenizerFast

    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        encoder = model.encoder
        encoder.config.position_embedding_type = (
            "absolute"  # transformers 5 leaves it out, and the converter asks for it
        )
        encoder.save_pretrained(folder)
        config = Path(folder, "config.json")
        config.write_text(json.dumps({**json.loads(config.read_text()), "position_embedding_type": "absolute"}))
        BertTokenizerFast(tokenizer_file=str(tokenizer_file)).save_pretrained(folder)
        TransformersConverter(folder).convert(
            str(out), quantization=None if quantization == "float32" else quantization, force=True
        )
    save_heads(model, out / HEADS)
    tokenizer: dict[str, Any] = json.loads(tokenizer_file.read_text(encoding="utf-8"))
    tokenizer["padding"] = tokenizer["truncation"] = None  # as published it cuts at 128
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    settle(out, settings)


def settle(out: Path, settings: Settings) -> None:
    """Write the settings, named by them and by the weights, and the checksums of all files."""
    settings = msgspec.structs.replace(settings, identity="")
    fitted = hashlib.sha256(msgspec.json.encode(settings)).hexdigest()
    identity = f"{file_digest(out / 'model.bin')[:16]}-{file_digest(out / 'heads.npz')[:8]}-{fitted[:8]}"
    named = msgspec.structs.replace(settings, identity=identity)
    (out / "reader.json").write_bytes(msgspec.json.format(msgspec.json.encode(named), indent=2) + b"\n")
    files = sorted(
        path.name for path in out.iterdir() if path.suffix in {".bin", ".npz", ".json"} and path.name != CHECKSUMS
    )
    (out / CHECKSUMS).write_text(json.dumps({name: file_digest(out / name) for name in files}, indent=2) + "\n")


def difference(one: Marking, other: Marking, examples: Sequence[Example]) -> float:
    """The largest difference of any score of `examples` between two engines."""
    windows = [(list(example.ids), list(example.types)) for example in examples]
    found = [
        np.abs(np.asarray(a, dtype=np.float32) - np.asarray(b, dtype=np.float32)).max()
        for ours, theirs in zip(one.mark(windows), other.mark(windows), strict=True)
        for a, b in zip(ours, theirs, strict=True)
    ]
    return float(np.max(found))  # not a number where one of them is not


def check(trained: Marking, converted: Marking, examples: Sequence[Example]) -> float:
    """`difference`, or RqaError where it is above AGREEMENT: a converter can be silently wrong."""
    found = difference(trained, converted, examples)
    if not found <= AGREEMENT:
        raise RqaError(
            f"The converted model's scores differ from the trained one's by {found:.2g}, and {AGREEMENT:g} is allowed.",
            hint="Either the training diverged: train anew at a lower --rate, into another folder. Or the versions of "
            "transformers and ctranslate2 do not fit each other: try transformers 4.57.",
        )
    return found
