"""Write models for CTranslate2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctranslate2.converters.transformers import BertLoader

# Largest allowed difference of fp32 logits between torch and CTranslate2. Conversion can fail silently.
TOLERANCE = 1e-4


def bert(model: Any, tokens: Sequence[str]) -> Any:
    """Return CTranslate2's specification of a BertModel with its weights. `tokens` are its vocabulary, by id."""
    if not hasattr(model.config, "position_embedding_type"):  # missing in transformers 5
        model.config.position_embedding_type = "absolute"
    spec: Any = BertLoader().get_model_spec(model)
    spec.register_vocabulary(padded(tokens, model))
    spec.config.unk_token = "[UNK]"  # noqa: S105
    spec.config.layer_norm_epsilon = model.config.layer_norm_eps
    return spec


def padded(tokens: Sequence[str], model: Any) -> list[str]:
    """Return the tokens, with names for the rows of the embeddings that no token uses."""
    return [*tokens, *(f"<none_{n}>" for n in range(model.config.vocab_size - len(tokens)))]


def write(spec: Any, folder: Path, quantization: str) -> None:
    """Write the weights, the vocabulary and the configuration of a model to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    spec.validate()
    spec.optimize(quantization=None if quantization == "float32" else quantization)
    spec.save(str(folder))
