"""Convert a trained model to a model folder: int8 weights, heads, tokenizer, settings and checksums."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from robust_qa import RqaError
from rqa_embedded.engine import Marking, Settings, save_settings

from ..conversion import TOLERANCE, bert, write
from .encoding import Example
from .model import HEADS, SpanReader, save_heads


def convert(
    model: SpanReader, tokenizer_file: Path, out: Path, settings: Settings, *, quantization: str = "int8"
) -> None:
    """Write the model folder `out` for `Engine`."""
    tokenizer: dict[str, Any] = json.loads(tokenizer_file.read_text(encoding="utf-8"))
    vocabulary = Tokenizer.from_file(str(tokenizer_file)).get_vocab()
    write(bert(model.encoder, sorted(vocabulary, key=vocabulary.__getitem__)), out, quantization)
    save_heads(model, out / HEADS)
    tokenizer["padding"] = tokenizer["truncation"] = None  # the published tokenizer truncates at 128
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    save_settings(out, settings)


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
