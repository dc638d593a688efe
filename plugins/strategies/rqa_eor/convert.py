"""Convert a transformers checkpoint to a classifier for the similarity `nli`. Needs the extra robust-qa[train].

    python -m rqa_eor.convert roberta-large-mnli models/nli

The checkpoint is a folder or a name on the Hugging Face hub. It must be a BERT or RoBERTa for sequence classification
with a label `entailment`. The result is compared with the original on a few pairs before it is saved.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

from robust_qa import ConfigError, InputError, RqaError
from robust_qa.kit import install_hint

from .checkpoint import entailment_label, longest_pair
from .nli import Converted

_PAIRS = [
    ("Jane Austen", "Austen"),
    ("in the year 1815", "It was published in 1815, by John Murray."),
    ("Paris", "Who wrote Emma? Nobody knows."),
]
_TOLERANCE = 1e-4
_KINDS = "int8 int8_float32 int8_float16 int8_bfloat16 int16 float16 bfloat16 float32".split()


def convert(checkpoint: str, folder: Path, quantization: str = "int8") -> None:
    """Write the classifier of `checkpoint` to `folder`.

    Raises ConfigError for another model family or without a label `entailment`. Raises RqaError if the float32
    probabilities differ from the original.
    """
    try:
        import numpy as np
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError as error:
        raise ConfigError(f"Converting needs {error.name}.", hint=f"Run `{install_hint('train')}`.") from error

    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty.", hint="Give a new folder.")
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    head = {name: np.asarray(value, dtype=np.float32) for name, value in _head(model).items()}
    head["entailment"] = np.array(entailment_label(model.config))
    head["limit"] = np.array(longest_pair(model.config))
    with tempfile.TemporaryDirectory() as temporary:
        exact = Path(temporary, "exact")
        _write(checkpoint, exact, tokenizer, head, "float32")
        _compare(Converted(exact).entailment(_PAIRS), _expected(model, tokenizer, int(head["entailment"])), checkpoint)
        if quantization != "float32":
            exact = exact.with_name(quantization)
            _write(checkpoint, exact, tokenizer, head, quantization)
        shutil.copytree(exact, folder, dirs_exist_ok=True)


def _head(model: Any) -> dict[str, Any]:
    """Return the two layers after the encoder: BERT's pooler and classifier, or RoBERTa's classification head."""
    if model.config.model_type == "bert":
        dense, out = model.bert.pooler.dense, model.classifier
    elif model.config.model_type in ("roberta", "xlm-roberta"):
        dense, out = model.classifier.dense, model.classifier.out_proj
    else:
        raise ConfigError(
            f"Models of type {model.config.model_type!r} cannot be converted, only BERT and RoBERTa.",
            hint="Download the checkpoint and set `nli_model` to its folder: transformers runs it unconverted.",
        )
    arrays = {"dense_weight": dense.weight, "dense_bias": dense.bias, "out_weight": out.weight, "out_bias": out.bias}
    return {name: array.detach().numpy() for name, array in arrays.items()}


def _write(checkpoint: str, folder: Path, tokenizer: Any, head: dict[str, Any], quantization: str) -> None:
    import numpy as np
    from ctranslate2.converters import TransformersConverter

    class Converter(TransformersConverter):  # type: ignore[misc]
        def load_model(self, *args: Any, **kwargs: Any) -> Any:
            model = super().load_model(*args, **kwargs)
            if not hasattr(model.config, "position_embedding_type"):  # missing in transformers 5
                model.config.position_embedding_type = "absolute"
            return model

    Converter(checkpoint).convert(str(folder), quantization=quantization)
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    np.savez(folder / "head.npz", **head)


def _expected(model: Any, tokenizer: Any, entailment: int) -> list[float]:
    import torch

    with torch.no_grad():
        logits = [model(**tokenizer(*pair, return_tensors="pt")).logits[0] for pair in _PAIRS]
    return [float(row.softmax(0)[entailment]) for row in logits]


def _compare(converted: list[float], expected: list[float], checkpoint: str) -> None:
    difference = max(abs(one - other) for one, other in zip(converted, expected, strict=True))
    if difference > _TOLERANCE:
        raise RqaError(
            f"Converted probabilities of {checkpoint} differ from the original by {difference:.2g}.",
            hint="Try another version of transformers.",
        )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m rqa_eor.convert", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkpoint", help="a folder or a name on the hub")
    parser.add_argument("folder", type=Path, help="folder to write")
    parser.add_argument("--quantization", choices=_KINDS, default="int8", help="type of the weights (default: int8)")
    arguments = parser.parse_args()
    try:
        convert(arguments.checkpoint, arguments.folder, arguments.quantization)
    except RqaError as error:
        raise SystemExit(f"{error.message}\n{error.hint}") from error


if __name__ == "__main__":
    main()
