"""From a checkpoint to a model folder, with the proof that the two say the same."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from ctranslate2.converters.transformers import BertLoader, T5Loader
from ctranslate2.specs.model_spec import OPTIONAL

from robust_qa import ConfigError, RqaError

from ..engine import Engine
from ..folder import HEAD, SETTINGS, TOKENIZER, settle
from ..pairs import Pair
from ..shapes import EOS_PLACE
from .checkpoints import Checkpoint

# Largest difference of a logit between torch and CTranslate2, both in fp32; a share of the largest logit above 1.
AGREEMENT = 1e-4
_QUANTISED = 1.0  # largest difference of a score, which is in [-1, 1], from torch's after quantisation

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


@dataclass(frozen=True)
class Proof:
    """The largest differences of logits from torch's in fp32, and of scores after quantisation."""

    exact: float
    quantised: float


def convert(checkpoint: Checkpoint, out: Path, *, quantization: str = "int8", force: bool = False) -> Proof:
    """Write the model folder `out`; "float32" keeps the weights as they are.

    The weights are first converted in fp32 and compared with torch on sample pairs, as a converter can be silently
    wrong. Raises RqaError where a logit differs by more than AGREEMENT, or a score after quantisation by half of its
    range, ConfigError when `out` is there already (with `force` a model folder is replaced).
    """
    check_free(out, force=force)
    out.parent.mkdir(parents=True, exist_ok=True)
    pairs = _pairs(checkpoint)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
        made = Path(folder) / "float32"
        expected, exact = _proved(checkpoint, made, pairs)
        quantised = 0.0
        if quantization != "float32":
            made = _written(checkpoint, Path(folder) / "quantised", quantization)
            quantised = _score_difference(made, pairs, expected)
            if not quantised < _QUANTISED:  # written so that NaN is refused
                raise RqaError(
                    f"{checkpoint.name} was not converted: in {quantization} its scores differ by {quantised:.2g}.",
                    hint="Its weights need more room: take --quantization float32.",
                )
        if out.exists():
            out.rename(Path(folder) / "replaced")
        made.rename(out)
    return Proof(exact, quantised)


def check_convertible(checkpoint: Checkpoint) -> None:
    """Raise RqaError where `convert` would before quantisation."""
    with tempfile.TemporaryDirectory() as folder:
        _proved(checkpoint, Path(folder) / "float32", _pairs(checkpoint))


def check_free(out: Path, *, force: bool) -> None:
    """Raise ConfigError unless `out` may be written."""
    if out.resolve() == Path.cwd():  # it is put in the place of what is there
        raise ConfigError("The current folder cannot be replaced by an evaluator.", hint="Name another folder.")
    taken = out.is_file() or (out.is_dir() and any(out.iterdir()))
    if taken and not (force and (out / SETTINGS).is_file()):
        hint = "--force replaces it." if (out / SETTINGS).is_file() else "Name another folder."
        raise ConfigError(f"{out} is there already.", hint=hint)


def torch_logits(checkpoint: Checkpoint, pairs: list[Pair]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The logits as torch computes them, one pair at a time."""
    checkpoint.model.eval()
    with torch.inference_mode():
        return np.array([float(checkpoint.logits([pair])[0]) for pair in pairs])


def _pairs(checkpoint: Checkpoint) -> list[Pair]:
    pairing = checkpoint.pairing()
    return [pairing.pair(question, text) for question in _QUESTIONS for text in _TEXTS]


def _proved(checkpoint: Checkpoint, made: Path, pairs: list[Pair]) -> tuple[np.ndarray[Any, Any], float]:
    """Write `made` in fp32; torch's logits, and how far its own are from these, or RqaError where that is too far."""
    try:
        expected = torch_logits(checkpoint, pairs)
        _written(checkpoint, made, "float32")
    except (OSError, MemoryError):
        raise
    except Exception as error:  # each library has its own way to say that it has no place for a configuration
        raise RqaError(
            f"{checkpoint.name} was not converted: torch or CTranslate2 has no place for its configuration: {error!r}."
        ) from error
    if not np.isfinite(expected).all():
        raise RqaError(
            f"{checkpoint.name} was not converted: it scores texts with what is no number.",
            hint="Its weights are damaged, or its training diverged; take an earlier state, or train at a lower rate.",
        )
    with contextlib.closing(Engine(made, compute="float32")) as engine:
        logits = engine.logits(pairs)
    exact = float(np.abs(logits - expected).max())
    allowed = AGREEMENT * max(1.0, float(np.abs(expected).max()))
    if not exact <= allowed:  # written so that NaN is refused
        raise RqaError(
            f"{checkpoint.name} was not converted: CTranslate2's logits differ from torch's by {exact:.2g}, "
            f"and {allowed:.2g} is allowed.",
            hint="The versions of transformers and ctranslate2 do not fit each other; transformers 4.57 does.",
        )
    return expected, exact


def _score_difference(folder: Path, pairs: list[Pair], expected: np.ndarray[Any, Any]) -> float:
    with contextlib.closing(Engine(folder)) as engine:
        return float(np.abs(engine.activate(engine.logits(pairs)) - engine.activate(expected)).max())


def _written(checkpoint: Checkpoint, folder: Path, quantization: str) -> Path:
    folder.mkdir()
    spec = _specification(checkpoint)
    spec.validate()
    spec.optimize(quantization=None if quantization == "float32" else quantization)
    spec.save(str(folder))
    checkpoint.tokenizer.save(str(folder / TOKENIZER), pretty=False)
    if (layer := _head(checkpoint)) is not None:
        np.savez(folder / HEAD, weight=_array(layer.weight), bias=_array(layer.bias, len(layer.weight)))
    settle(folder, checkpoint.settings)
    return folder


def _specification(checkpoint: Checkpoint) -> Any:
    """CTranslate2's description of the model, with its weights."""
    model, settings = checkpoint.model, checkpoint.settings
    tokens = checkpoint.pairing().vocabulary()
    tokens += [f"<none_{n}>" for n in range(model.config.vocab_size - len(tokens))]
    if settings.shape == "cross-encoder":
        if not hasattr(model.config, "position_embedding_type"):  # transformers 5 leaves it out
            model.config.position_embedding_type = "absolute"
        spec: Any = BertLoader().get_model_spec(model.bert)
        spec.register_vocabulary(tokens)
        spec.config.unk_token = "[UNK]"  # noqa: S105
        spec.config.layer_norm_epsilon = model.config.layer_norm_eps
        return spec
    spec = _label(checkpoint) if settings.shape == "label" else _classifier(model)
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary([tokens[n] for n in _kept(checkpoint)] if settings.shape == "label" else tokens)
    spec.config.bos_token = spec.config.decoder_start_token = tokens[model.config.decoder_start_token_id]
    spec.config.eos_token, spec.config.unk_token = "</s>", "<unk>"
    spec.config.layer_norm_epsilon = model.config.layer_norm_epsilon
    return spec


def _label(checkpoint: Checkpoint) -> Any:
    model = checkpoint.model
    spec = T5Loader().get_model_spec(model)
    if not _scales(model):
        spec.decoder.scale_outputs = OPTIONAL
    kept = _kept(checkpoint)  # of the target vocabulary: nothing else is ever said
    spec.decoder.embeddings.weight = model.decoder.embed_tokens.weight.detach()[kept].clone()
    spec.decoder.projection.weight = model.lm_head.weight.detach()[kept].clone()
    return spec


def _scales(model: Any) -> bool:
    """Whether the head reads the decoder's output scaled: seen in a pass, as the configuration of a T5 or mT5 says
    something else in each version of transformers."""
    seen: list[torch.Tensor] = []
    hooks = [
        model.decoder.register_forward_hook(lambda _, given, output: seen.append(output[0])),
        model.lm_head.register_forward_pre_hook(lambda _, given: seen.append(given[0])),
    ]
    one = torch.full((1, 1), model.config.decoder_start_token_id, device=model.device)
    with torch.inference_mode():
        model(input_ids=one, decoder_input_ids=one)
    for hook in hooks:
        hook.remove()
    said, read = seen
    return not torch.equal(said, read)


def _kept(checkpoint: Checkpoint) -> list[int]:
    config, unknown = checkpoint.model.config, checkpoint.tokenizer.token_to_id("<unk>")
    return [config.decoder_start_token_id, config.eos_token_id, unknown, *checkpoint.labels()]


def _classifier(model: Any) -> Any:
    """The head's dense layer as projection, with a row at </s> that never wins, so that decoding goes on."""
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
    """What is computed after the engine, None where nothing is."""
    match checkpoint.settings.shape:
        case "label":
            return None
        case "classifier":
            return checkpoint.model.classification_head.out_proj
        case "cross-encoder":
            return checkpoint.model.classifier


def _array(tensor: Any, size: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    """As float32; zeros for a bias that a layer does not have."""
    return np.zeros(size, np.float32) if tensor is None else tensor.detach().cpu().numpy().astype(np.float32)
