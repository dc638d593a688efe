"""Load and save transformers checkpoints of the three supported shapes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
import transformers
from tokenizers import Tokenizer

from robust_qa import ConfigError, MissingError
from rqa_t5.folder import SETTINGS, TOKENIZER, Input, Settings, Shape
from rqa_t5.pairs import CRAG_TEMPLATE, LABEL_TEMPLATE, Pair, Pairing

from ..commands import require

_SETTINGS_KEY = "rqa_evaluator"  # in the config.json of checkpoints that rqa trained

_T5 = ("t5", "mt5")
_NEW = ("classifier.", "bert.pooler.", "classification_head.")  # weights that training makes
_SUPPORTED = "T5ForConditionalGeneration, T5ForSequenceClassification and BertForSequenceClassification"


@dataclass(frozen=True)
class Checkpoint:
    """A torch model in fp32 with its tokenizer and settings."""

    name: str
    model: Any
    tokenizer: Tokenizer
    settings: Settings

    def with_input(self, *, length: int | None = None, form: Input | None = None) -> Checkpoint:
        """Return the checkpoint with another form or maximum length, up to the model's limit."""
        settings = self.settings
        most = getattr(self.model.config, "max_position_embeddings", None)  # a T5's positions are relative
        length = min(length or settings.length, most or 8192)
        return replace(self, settings=msgspec.structs.replace(settings, length=length, input=form or settings.input))

    def pairing(self) -> Pairing:
        """Return the builder of inputs. It gets a copy of the tokenizer because it changes it."""
        return Pairing(Tokenizer.from_str(self.tokenizer.to_str()), self.settings)

    def labels(self) -> list[int]:
        """Return the token ids of the two labels, relevant first."""
        vocabulary = self.tokenizer.get_vocab()
        return [vocabulary[token] for token in self.settings.labels or ()]

    def outputs(self) -> tuple[str, str] | None:
        """Return the names of the two outputs, relevant first, or None if there is one output."""
        config = self.model.config
        if self.settings.shape == "label" or config.num_labels != 2:
            return None
        return str(config.id2label[1]), str(config.id2label[0])

    def logits(self, pairs: list[Pair]) -> torch.Tensor:
        """Return the logit of each pair, (pairs,), on the model's device."""
        device = self.model.device
        longest = max(len(pair.ids) for pair in pairs)
        ids = torch.full((len(pairs), longest), self.model.config.pad_token_id or 0)
        mask = torch.zeros_like(ids)
        types = torch.zeros_like(ids)
        for row, pair in enumerate(pairs):
            ids[row, : len(pair.ids)] = torch.tensor(pair.ids)
            mask[row, : len(pair.ids)] = 1
            types[row, : len(pair.types)] = torch.tensor(pair.types, dtype=torch.long)
        inputs = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
        if self.settings.shape == "label":
            start = torch.full((len(pairs), 1), self.model.config.decoder_start_token_id, device=device)
            label_logits = self.model(**inputs, decoder_input_ids=start).logits[:, 0, self.labels()].float()
            return label_logits[:, 0] - label_logits[:, 1]
        if self.settings.shape == "cross-encoder":
            inputs["token_type_ids"] = types.to(device)
        outputs = self.model(**inputs).logits.float()
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs[:, 1] - outputs[:, 0]

    def save(self, folder: Path) -> None:
        """Save the checkpoint with its settings, so that `load` restores it."""
        transformers.utils.logging.disable_progress_bar()
        setattr(self.model.config, _SETTINGS_KEY, msgspec.to_builtins(self.settings))
        self.model.save_pretrained(folder)
        self.tokenizer.save(str(folder / TOKENIZER))


def load(
    source: str,
    *,
    labels: tuple[str, str] | None = None,
    trainable: bool = False,
    shape: Literal["label", "classifier"] | None = None,
) -> Checkpoint:
    """Load a checkpoint from a folder or from the Hugging Face hub.

    `labels` are the two labels, relevant first: words of a label T5, or names of two outputs. By default they come
    from the settings, else they are true and false, or the second output is relevant.
    With `trainable`, a BERT without a classifier gets a new one, and so does a T5 that generates text, unless `shape`
    or an earlier training says that it is a label T5. Raises MissingError if the checkpoint cannot be loaded and
    ConfigError if its model is not supported or cannot have this `shape`.
    """
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    path = Path(source).expanduser()
    local = path.exists() or source.startswith((".", "/", "~"))
    where = str(path) if local else source
    if local and (path / SETTINGS).is_file():
        raise MissingError(
            f"{path} is a converted model folder, not a checkpoint.",
            hint="Give the original checkpoint. `rqa train evaluator` saves it as `torch` next to `model`.",
        )
    if local and not (path / "config.json").is_file():
        raise MissingError(
            f"{path} is not a checkpoint: it has no config.json.",
            hint="Give a folder written by `save_pretrained` of transformers, or a name on the Hugging Face hub.",
        )
    try:
        config = transformers.AutoConfig.from_pretrained(where)
        found = _shape(where, config, trainable=trainable, wanted=shape)
        model, missing = _model(where, config, found)
        tokenizer = _tokenizer(where, config.vocab_size)
        settings = _settings(source, model.config, tokenizer, found, labels)
        _order_outputs(source, model, found, labels)
    except (ConfigError, MissingError):
        raise
    except Exception as error:  # the libraries raise many kinds of errors
        raise MissingError(
            f"Cannot load the checkpoint {source}: {' '.join(str(error).split())[:400].rstrip('.')}.",
            hint="Check the name and the files. Models on the hub need network access, and private ones HF_TOKEN.",
        ) from error
    if trainable:
        missing = [name for name in missing if not name.startswith(_NEW)]
    if missing:
        raise ConfigError(f"The checkpoint {source} has missing weights: {', '.join(missing[:4])}.")
    return Checkpoint(source, model.eval(), tokenizer, settings)


def _shape(name: str, config: Any, *, trainable: bool, wanted: Shape | None) -> Shape:
    architecture = (config.architectures or ["a model without a named architecture"])[0]
    if config.model_type in _T5 and architecture.endswith(("ForConditionalGeneration", "WithLMHeadModel")):
        return (wanted or _trained(config) or "classifier") if trainable else "label"
    if config.model_type in _T5 and architecture.endswith("ForSequenceClassification"):
        shape: Shape = "classifier"
    elif config.model_type == "bert" and (trainable or architecture == "BertForSequenceClassification"):
        shape = "cross-encoder"
    else:
        raise ConfigError(
            f"{name} is {architecture}, which is not supported as an evaluator.",
            hint=f"Use {_SUPPORTED}, or train any T5 or BERT with `rqa train evaluator --base`.",
        )
    if architecture.endswith("ForSequenceClassification") and config.num_labels not in (1, 2):
        raise ConfigError(f"{name} has {config.num_labels} labels, but an evaluator has 1 or 2.")
    if wanted not in (None, shape):
        raise ConfigError(
            f"{name} is {architecture}, which cannot be trained as the shape {wanted}.",
            hint="Start from an ordinary T5.",
        )
    return shape


def _trained(config: Any) -> Shape | None:
    """Return the shape that rqa trained the checkpoint in, or None."""
    saved = getattr(config, _SETTINGS_KEY, None)
    return None if saved is None else saved["shape"]


def _model(where: str, config: Any, shape: Shape) -> tuple[Any, list[str]]:
    kinds = {
        "label": transformers.AutoModelForSeq2SeqLM,
        "classifier": transformers.AutoModelForSequenceClassification,
        "cross-encoder": transformers.AutoModelForSequenceClassification,
    }
    if not (config.architectures or [""])[0].endswith("ForSequenceClassification"):
        config.num_labels = 1
    kind: Any = kinds[shape]
    model, info = kind.from_pretrained(where, config=config, dtype=torch.float32, output_loading_info=True)
    return model, sorted(info["missing_keys"])


def _order_outputs(name: str, model: Any, shape: Shape, labels: tuple[str, str] | None) -> None:
    """Swap the two outputs if `labels` say that the first one means relevant."""
    config = model.config
    if labels is None or shape == "label" or config.num_labels != 2:
        return
    first, second = names = [str(config.id2label[n]) for n in (0, 1)]
    if sorted(labels) != sorted(names):
        raise ConfigError(f"The outputs of {name} are {first!r} and {second!r}, so --labels must name these two.")
    if labels[0] == second:
        return
    layer = model.classifier if shape == "cross-encoder" else model.classification_head.out_proj
    for weights in layer.parameters():
        weights.data = weights.data.flip(0)
    config.id2label, config.label2id = {0: second, 1: first}, {second: 0, first: 1}


def _tokenizer(where: str, size: int) -> Tokenizer:
    # transformers 5 may rebuild a T5's tokenizer with small differences, so prefer the file.
    if (file := _file(where, TOKENIZER)) is not None:
        tokenizer = Tokenizer.from_file(file)
    else:
        if _file(where, "spiece.model") is not None:
            require("sentencepiece.sentencepiece_model_pb2")
        loaded: Any = transformers.AutoTokenizer.from_pretrained(where)
        tokenizer = Tokenizer.from_str(loaded.backend_tokenizer.to_str())
    # Without tokenizer files, transformers 5 returns an almost empty tokenizer. Vocabularies may be padded a little.
    if not size / 2 <= (known := tokenizer.get_vocab_size()) <= size:
        raise MissingError(
            f"The checkpoint {where} has no matching tokenizer: {known:,} tokens for a model with {size:,}.",
            hint="Save the original tokenizer in its folder, for example with "
            '`AutoTokenizer.from_pretrained("t5-large").save_pretrained(FOLDER)`.',
        )
    return tokenizer


def _file(where: str, name: str) -> str | None:
    found: str | None = transformers.utils.cached_file(where, name, _raise_exceptions_for_missing_entries=False)
    return found


def _settings(name: str, config: Any, tokenizer: Tokenizer, shape: Shape, labels: tuple[str, str] | None) -> Settings:
    saved = getattr(config, _SETTINGS_KEY, None)
    if saved is not None and saved["shape"] == shape:
        settings = msgspec.convert(json.loads(json.dumps(saved)), Settings)
        if labels is None or shape != "label":
            return settings
        return msgspec.structs.replace(settings, labels=_label_tokens(name, tokenizer, labels))
    if shape == "cross-encoder":
        length = min(512, config.max_position_embeddings)
        linear = config.problem_type == "regression" and config.num_labels == 1
        return Settings(shape=shape, length=length, activation="linear" if linear else "logistic")
    if config.eos_token_id != 1 or tokenizer.token_to_id("</s>") != 1:
        raise ConfigError(f"{name} has another end token than T5: </s> must be token 1.")
    if shape == "classifier":
        # CRAG trains by regression on -1 and 1 (appendix B.3).
        return Settings(
            shape=shape, template=CRAG_TEMPLATE, activation="linear" if config.num_labels == 1 else "logistic"
        )
    return Settings(
        shape=shape, template=LABEL_TEMPLATE, labels=_label_tokens(name, tokenizer, labels or ("true", "false"))
    )


def _label_tokens(name: str, tokenizer: Tokenizer, labels: tuple[str, str]) -> tuple[str, str]:
    relevant, irrelevant = (tokenizer.encode(label, add_special_tokens=False).tokens[:1] for label in labels)
    if not relevant or not irrelevant or relevant == irrelevant:
        raise ConfigError(
            f"The labels {labels[0]!r} and {labels[1]!r} begin with the same token of {name}.",
            hint="Choose two words with different beginnings: `--labels YES,NO`.",
        )
    return relevant[0], irrelevant[0]
