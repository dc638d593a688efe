"""Convert a trained model to a model folder: int8 weights, heads, tokenizer, settings and checksums."""

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

TOLERANCE = 1e-4  # largest allowed difference of fp32 scores between torch and CTranslate2


def convert(
    model: SpanReader, tokenizer_file: Path, out: Path, settings: Settings, *, quantization: str = "int8"
) -> None:
    """Write the model folder `out` for `Engine`."""
    from ctranslate2.converters import TransformersConverter
    from transformers import BertTokenizerFast

    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        encoder = model.encoder
        encoder.config.position_embedding_type = "absolute"  # missing in transformers 5
        encoder.save_pretrained(folder)
        config = Path(folder, "config.json")
        config.write_text(json.dumps({**json.loads(config.read_text()), "position_embedding_type": "absolute"}))
        BertTokenizerFast(tokenizer_file=str(tokenizer_file)).save_pretrained(folder)
        TransformersConverter(folder).convert(
            str(out), quantization=None if quantization == "float32" else quantization, force=True
        )
    save_heads(model, out / HEADS)
    tokenizer: dict[str, Any] = json.loads(tokenizer_file.read_text(encoding="utf-8"))
    tokenizer["padding"] = tokenizer["truncation"] = None  # the published tokenizer truncates at 128
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    settle(out, settings)


def settle(out: Path, settings: Settings) -> None:
    """Write the settings with the identity of the model, and the checksums of all files."""
    settings = msgspec.structs.replace(settings, identity="")
    digest = hashlib.sha256(msgspec.json.encode(settings)).hexdigest()
    identity = f"{file_digest(out / 'model.bin')[:16]}-{file_digest(out / 'heads.npz')[:8]}-{digest[:8]}"
    named = msgspec.structs.replace(settings, identity=identity)
    (out / "reader.json").write_bytes(msgspec.json.format(msgspec.json.encode(named), indent=2) + b"\n")
    files = sorted(
        path.name for path in out.iterdir() if path.suffix in {".bin", ".npz", ".json"} and path.name != CHECKSUMS
    )
    (out / CHECKSUMS).write_text(json.dumps({name: file_digest(out / name) for name in files}, indent=2) + "\n")


def difference(one: Marking, other: Marking, examples: Sequence[Example]) -> float:
    """Return the largest difference of any score of `examples` between two engines."""
    windows = [(list(example.ids), list(example.types)) for example in examples]
    found = [
        np.abs(np.asarray(a, dtype=np.float32) - np.asarray(b, dtype=np.float32)).max()
        for ours, theirs in zip(one.mark(windows), other.mark(windows), strict=True)
        for a, b in zip(ours, theirs, strict=True)
    ]
    return float(np.max(found))  # NaN if any score is NaN


def check(trained: Marking, converted: Marking, examples: Sequence[Example]) -> float:
    """Return `difference`. Raises RqaError above TOLERANCE, because conversion can fail silently."""
    found = difference(trained, converted, examples)
    if not found <= TOLERANCE:
        raise RqaError(
            f"The scores of the converted model differ from the trained one's by {found:.2g}.",
            hint="Install transformers 4.57, or train into another folder with a lower --rate.",
        )
    return found
