"""Convert a checkpoint to a model folder and check that both give the same scores."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from ctranslate2.converters.transformers import T5Loader
from ctranslate2.specs.model_spec import OPTIONAL

from robust_qa import ConfigError, RqaError
from robust_qa.kit import cores
from rqa_t5.engine import Engine
from rqa_t5.folder import HEAD, SETTINGS, TOKENIZER, Settings, settle
from rqa_t5.pairs import Pair
from rqa_t5.shapes import EOS_PLACE

from ..card import history, made, measured, named
from ..conversion import TOLERANCE, bert, padded, write
from .checkpoints import Checkpoint

_QUANTISED_TOLERANCE = 1.0  # largest allowed difference of scores after quantisation

_QUESTIONS = (
    "Who wrote Moby-Dick?",
    "In what city was the painter of the ceiling born?",
    "quelle est la capitale de la France ?",
)
_TEXTS = (
    "Moby-Dick; or, The Whale is an 1851 novel by the American writer Herman Melville.",
    "Paris.",
    "The harbour froze in the winter of 1740, and ships lay in the ice until April. " * 12,
    "法国的首都是巴黎。 Æther & naïve ﬁ \u200b",
    "word " * 2000,
)


_TIMED_WORDS = 100  # of a typical passage


@dataclass(frozen=True)
class Proof:
    """The largest differences from torch: of fp32 logits, and of scores after quantisation."""

    exact: float
    quantised: float


def convert(checkpoint: Checkpoint, out: Path, *, quantization: str = "int8", force: bool = False) -> Proof:
    """Write the model folder `out`.

    First compares the fp32 logits with torch on sample pairs, because conversion can fail silently. Raises RqaError if
    they differ, or if quantised scores differ by half of their range. Raises ConfigError if `out` exists; `force`
    replaces a model folder.
    """
    check_free(out, force=force)
    out.parent.mkdir(parents=True, exist_ok=True)
    pairs = _pairs(checkpoint)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
        made = Path(folder) / "float32"
        expected, exact = _check_fp32(checkpoint, made, pairs)
        quantised = 0.0
        if quantization != "float32":
            made = _write(checkpoint, Path(folder) / "quantised", quantization)
            quantised = _score_difference(made, pairs, expected)
            if not quantised < _QUANTISED_TOLERANCE:  # also refuses NaN
                raise RqaError(
                    f"Cannot convert {checkpoint.name} to {quantization}: its scores differ by {quantised:.2g}.",
                    hint="Use --quantization float32.",
                )
        if out.exists():
            out.rename(Path(folder) / "replaced")
        made.rename(out)
    return Proof(exact, quantised)


def default_quantization(checkpoint: Checkpoint) -> str:
    """Return float32 for a classifier, whose thresholds are close to -1 as published, and int8 for other shapes."""
    return "float32" if checkpoint.settings.shape == "classifier" else "int8"


def texts_per_second(folder: Path) -> float:
    """Measure how many passages of 100 words the model in `folder` scores per second on all cores."""
    words = " ".join(_TEXTS).split()[:_TIMED_WORDS]
    with contextlib.closing(Engine(folder)) as engine:
        count = 2 * cores()
        engine.score([(_QUESTIONS[0], _TEXTS[0])])  # loads the weights into memory
        start = time.perf_counter()
        engine.score([(_QUESTIONS[0], " ".join([str(n), *words])) for n in range(count)])
        return count / (time.perf_counter() - start)


def speed_note(folder: Path) -> str:
    """Return how fast a classifier is."""
    speed = texts_per_second(folder)
    return f"A classifier takes a decoder step for each token: about {speed:.2g} passages of 100 words a second here."


def check_convertible(checkpoint: Checkpoint) -> None:
    """Raise RqaError if the model cannot be converted in fp32."""
    with tempfile.TemporaryDirectory() as folder:
        _check_fp32(checkpoint, Path(folder) / "float32", _pairs(checkpoint))


def check_free(out: Path, *, force: bool) -> None:
    """Raise ConfigError unless `convert` may write `out`."""
    taken = out.is_file() or (out.is_dir() and any(out.iterdir()))
    if taken and not (force and (out / SETTINGS).is_file()):
        hint = "Use --force to replace it." if (out / SETTINGS).is_file() else "Give another folder."
        raise ConfigError(f"{out} already exists.", hint=hint)


def torch_logits(checkpoint: Checkpoint, pairs: list[Pair]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return torch's logits, computed one pair at a time."""
    checkpoint.model.eval()
    with torch.inference_mode():
        return np.array([float(checkpoint.logits([pair])[0]) for pair in pairs])


def _pairs(checkpoint: Checkpoint) -> list[Pair]:
    pairing = checkpoint.pairing()
    return [pairing.pair(question, text) for question in _QUESTIONS for text in _TEXTS]


def _check_fp32(checkpoint: Checkpoint, folder: Path, pairs: list[Pair]) -> tuple[np.ndarray[Any, Any], float]:
    """Write `folder` in fp32. Returns torch's logits and the largest difference, or raises RqaError."""
    try:
        expected = torch_logits(checkpoint, pairs)
        _write(checkpoint, folder, "float32")
    except (OSError, MemoryError):
        raise
    except Exception as error:  # the libraries raise many kinds of errors
        raise RqaError(
            f"Cannot convert {checkpoint.name}: torch or CTranslate2 does not support its configuration: {error!r}."
        ) from error
    with contextlib.closing(Engine(folder, compute="float32")) as engine:
        logits = engine.logits(pairs)
    exact = float(np.abs(logits - expected).max())
    allowed = TOLERANCE * max(1.0, float(np.abs(expected).max()))
    if not exact <= allowed:  # also refuses NaN
        raise RqaError(
            f"Cannot convert {checkpoint.name}: CTranslate2's logits differ from torch's by {exact:.2g}.",
            hint="Install transformers 4.57.",
        )
    return expected, exact


def _score_difference(folder: Path, pairs: list[Pair], expected: np.ndarray[Any, Any]) -> float:
    with contextlib.closing(Engine(folder)) as engine:
        return float(np.abs(engine.activate(engine.logits(pairs)) - engine.activate(expected)).max())


def _write(checkpoint: Checkpoint, folder: Path, quantization: str) -> Path:
    write(_specification(checkpoint), folder, quantization)
    checkpoint.tokenizer.save(str(folder / TOKENIZER), pretty=False)
    if (layer := _head(checkpoint)) is not None:
        np.savez(folder / HEAD, weight=_array(layer.weight), bias=_array(layer.bias, len(layer.weight)))
    settle(folder, checkpoint.settings)
    return folder


def _specification(checkpoint: Checkpoint) -> Any:
    """Return CTranslate2's specification of the model, with its weights."""
    model, settings = checkpoint.model, checkpoint.settings
    tokens = checkpoint.pairing().vocabulary()
    if settings.shape == "cross-encoder":
        return bert(model.bert, tokens)
    tokens = padded(tokens, model)
    spec = _label(checkpoint) if settings.shape == "label" else _classifier(model)
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(
        [tokens[n] for n in _target_ids(checkpoint)] if settings.shape == "label" else tokens
    )
    spec.config.bos_token = spec.config.decoder_start_token = tokens[model.config.decoder_start_token_id]
    spec.config.eos_token, spec.config.unk_token = "</s>", "<unk>"
    spec.config.layer_norm_epsilon = model.config.layer_norm_epsilon
    return spec


def _label(checkpoint: Checkpoint) -> Any:
    model = checkpoint.model
    spec = T5Loader().get_model_spec(model)
    if not _scales(model):
        spec.decoder.scale_outputs = OPTIONAL
    target_ids = _target_ids(checkpoint)
    spec.decoder.embeddings.weight = model.decoder.embed_tokens.weight.detach()[target_ids].clone()
    spec.decoder.projection.weight = model.lm_head.weight.detach()[target_ids].clone()
    return spec


def _scales(model: Any) -> bool:
    """Return whether the model scales the decoder's output before the head.

    Found by a forward pass, because versions of transformers disagree in the configuration.
    """
    seen: list[torch.Tensor] = []
    hooks = [
        model.decoder.register_forward_hook(lambda _, given, output: seen.append(output[0])),
        model.lm_head.register_forward_pre_hook(lambda _, given: seen.append(given[0])),
    ]
    start = torch.full((1, 1), model.config.decoder_start_token_id, device=model.device)
    with torch.inference_mode():
        model(input_ids=start, decoder_input_ids=start)
    for hook in hooks:
        hook.remove()
    output, head_input = seen
    return not torch.equal(output, head_input)


def _target_ids(checkpoint: Checkpoint) -> list[int]:
    config, unknown = checkpoint.model.config, checkpoint.tokenizer.token_to_id("<unk>")
    return [config.decoder_start_token_id, config.eos_token_id, unknown, *checkpoint.labels()]


def _classifier(model: Any) -> Any:
    """Store the head's dense layer as projection. An extra row for </s> never wins, so decoding continues."""
    dense = model.classification_head.dense
    weight, bias = dense.weight.detach(), dense.bias.detach()
    stack = model.transformer
    rows = torch.cat([weight[:EOS_PLACE], torch.zeros(1, weight.shape[1]), weight[EOS_PLACE:]])
    biases = torch.cat([bias[:EOS_PLACE], torch.tensor([-1e4]), bias[EOS_PLACE:]])
    head = SimpleNamespace(weight=rows, bias=biases)
    parts = SimpleNamespace(config=model.config, encoder=stack.encoder, decoder=stack.decoder, lm_head=head)
    spec = T5Loader().get_model_spec(parts)
    spec.decoder.scale_outputs = OPTIONAL
    return spec


def _head(checkpoint: Checkpoint) -> Any:
    """Return the layer after the engine, or None."""
    match checkpoint.settings.shape:
        case "label":
            return None
        case "classifier":
            return checkpoint.model.classification_head.out_proj
        case "cross-encoder":
            return checkpoint.model.classifier


def _array(tensor: Any, size: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return a float32 array, or zeros for a missing bias."""
    return np.zeros(size, np.float32) if tensor is None else tensor.detach().cpu().numpy().astype(np.float32)


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
