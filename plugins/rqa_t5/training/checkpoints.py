"""Checkpoints as transformers saves them, of the three shapes that can be an evaluator."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import torch
import transformers
from tokenizers import Tokenizer

from robust_qa import ConfigError, MissingError

from ..command_parts import need
from ..folder import SETTINGS, TOKENIZER, Settings, Shape
from ..pairs import CRAG_TEMPLATE, LABEL_TEMPLATE, Pair, Pairing

OURS = "rqa_evaluator"  # the key of config.json under which a checkpoint that was trained here keeps its settings

_T5 = ("t5", "mt5")
# As checkpoints name the output of what is relevant; and what the other one's name has before the same word.
_YES = frozenset({"relevant", "true", "yes", "positive", "entailment", "1"})
_NOT = r"(?:not|non|no|ir|in|un)[ _-]*"
_SUPPORTED = "T5ForConditionalGeneration, T5ForSequenceClassification and BertForSequenceClassification"


@dataclass(frozen=True)
class Checkpoint:
    """A model in torch, in fp32, with its tokenizer and what an evaluator has to know of it."""

    name: str
    model: Any
    tokenizer: Tokenizer
    settings: Settings

    def used(self, *, template: str | None = None, length: int | None = None) -> Checkpoint:
        """The checkpoint with another template of its input, or another length, as far as it can read."""
        settings = self.settings
        most = getattr(self.model.config, "max_position_embeddings", None)  # a T5's positions are relative
        length = min(length or settings.length, most or 8192)
        template = settings.template if template is None else template
        return replace(self, settings=msgspec.structs.replace(settings, template=template, length=length))

    def pairing(self) -> Pairing:
        """Makes the model's inputs. A tokenizer is not shared, as a pairing changes it."""
        return Pairing(Tokenizer.from_str(self.tokenizer.to_str()), self.settings)

    def labels(self) -> list[int]:
        """The ids of the tokens for "relevant" and "not relevant"."""
        vocabulary = self.tokenizer.get_vocab()
        return [vocabulary[token] for token in self.settings.labels or ()]

    def outputs(self) -> tuple[str, str] | None:
        """The names of the outputs for "relevant" and "not relevant"; None where the model has not two."""
        config = self.model.config
        if self.settings.shape == "label" or config.num_labels != 2:
            return None
        return str(config.id2label[1]), str(config.id2label[0])

    def logits(self, pairs: list[Pair]) -> torch.Tensor:
        """The logit of each pair, (pairs,), on the model's device; gradients are the caller's affair."""
        device = self.model.device
        longest = max(len(pair.ids) for pair in pairs)
        ids = torch.full((len(pairs), longest), self.model.config.pad_token_id or 0)
        mask = torch.zeros_like(ids)
        types = torch.zeros_like(ids)
        for row, pair in enumerate(pairs):
            ids[row, : len(pair.ids)] = torch.tensor(pair.ids)
            mask[row, : len(pair.ids)] = 1
            types[row, : len(pair.types)] = torch.tensor(pair.types, dtype=torch.long)
        given = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
        if self.settings.shape == "label":
            start = torch.full((len(pairs), 1), self.model.config.decoder_start_token_id, device=device)
            said = self.model(**given, decoder_input_ids=start).logits[:, 0, self.labels()].float()
            return said[:, 0] - said[:, 1]
        if self.settings.shape == "cross-encoder":
            given["token_type_ids"] = types.to(device)
        outputs = self.model(**given).logits.float()
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs[:, 1] - outputs[:, 0]

    def save(self, folder: Path) -> None:
        """As transformers saves it; what is loaded from there is this again."""
        transformers.utils.logging.disable_progress_bar()
        setattr(self.model.config, OURS, msgspec.to_builtins(self.settings))
        self.model.save_pretrained(folder)
        self.tokenizer.save(str(folder / TOKENIZER))


def load(source: str, *, labels: tuple[str, str] | None = None, trainable: bool = False) -> Checkpoint:
    """The checkpoint in the folder, or of the hub's name, `source`.

    `labels` are the words that a label T5 says, by default those it was trained with here, or "true" and "false"; of a
    model with two outputs they are the names of these, by default in the order that the names tell, else the second
    one is that of "relevant".
    With `trainable` a BERT may lack the classifier: it gets a new one.
    Raises MissingError where there is none, ConfigError where it cannot be an evaluator.
    """
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    path = Path(source).expanduser()
    local = path.exists() or source.startswith((".", "/", "~"))
    where = str(path) if local else source
    if local and (path / SETTINGS).is_file():
        raise MissingError(
            f"{path} is no checkpoint: it is an evaluator that was converted already.",
            hint="Name what it was made from; `rqa train evaluator` leaves that in `torch` beside `model`.",
        )
    if local and not (path / "config.json").is_file():
        raise MissingError(
            f"{path} is no checkpoint: there is no config.json in it.",
            hint="Name a folder that transformers' `save_pretrained` wrote, or a model of the Hugging Face hub.",
        )
    try:
        config = transformers.AutoConfig.from_pretrained(where)
        shape = _shape(where, config, trainable=trainable)
        model, lacking = _model(where, config, shape)
        tokenizer = _tokenizer(where, config.vocab_size)
        settings = _settings(source, model.config, tokenizer, shape, labels)
        _turn(source, model, shape, labels)
    except (ConfigError, MissingError):
        raise
    except Exception as error:  # a damaged file, no network, no such repository: each library has its own
        raise MissingError(
            f"The checkpoint {source} cannot be loaded: {' '.join(str(error).split())[:400].rstrip('.')}.",
            hint="Check the name and its files. A model of the hub needs the network once; HF_TOKEN if it is private.",
        ) from error
    if trainable:
        lacking = [name for name in lacking if not name.startswith(("classifier.", "bert.pooler."))]
    if lacking:
        raise ConfigError(f"The checkpoint {source} lacks weights: {', '.join(lacking[:4])}.")
    return Checkpoint(source, model.eval(), tokenizer, settings)


def _shape(name: str, config: Any, *, trainable: bool) -> Shape:
    architecture = (config.architectures or ["a model without a named architecture"])[0]
    if config.model_type in _T5 and architecture.endswith("ForSequenceClassification"):
        shape: Shape = "classifier"
    elif config.model_type in _T5 and architecture.endswith(("ForConditionalGeneration", "WithLMHeadModel")):
        return "label"
    elif config.model_type == "bert" and (trainable or architecture == "BertForSequenceClassification"):
        shape = "cross-encoder"
    else:
        raise ConfigError(
            f"{name} is {architecture}, which cannot be an evaluator.",
            hint=f"The shapes that can are {_SUPPORTED}; `rqa train evaluator --base` makes one of any T5 or BERT.",
        )
    if architecture.endswith("ForSequenceClassification") and config.num_labels not in (1, 2):
        raise ConfigError(f"{name} tells {config.num_labels} labels apart, and an evaluator has 1 or 2.")
    return shape


def _model(where: str, config: Any, shape: Shape) -> tuple[Any, list[str]]:
    kinds = {
        "label": transformers.AutoModelForSeq2SeqLM,
        "classifier": transformers.AutoModelForSequenceClassification,
        "cross-encoder": transformers.AutoModelForSequenceClassification,
    }
    if not (config.architectures or [""])[0].endswith("ForSequenceClassification"):
        config.num_labels = 1
    kind: Any = kinds[shape]
    model, told = kind.from_pretrained(where, config=config, dtype=torch.float32, output_loading_info=True)
    return model, sorted(told["missing_keys"])


def _turn(name: str, model: Any, shape: Shape, labels: tuple[str, str] | None) -> None:
    """Have the second of two outputs be that of "relevant", where `labels` or else their names say it is the first."""
    config = model.config
    if shape == "label" or config.num_labels != 2:
        return
    first, second = names = [str(config.id2label[n]) for n in (0, 1)]
    if labels is not None and sorted(labels) != sorted(names):
        raise ConfigError(f"The outputs of {name} are {first!r} and {second!r}; --labels must name these two.")
    if not (_means_yes(first, second) if labels is None else labels[0] == first):
        return
    layer = model.classifier if shape == "cross-encoder" else model.classification_head.out_proj
    # What was trained here was turned before, though the names may still be those of its base.
    if labels is not None or not hasattr(config, OURS):
        for weights in layer.parameters():
            weights.data = weights.data.flip(0)
    config.id2label, config.label2id = {0: second, 1: first}, {second: 0, first: 1}


def _means_yes(one: str, other: str) -> bool:
    """Whether of an output's name and the other's it is this one that stands for "relevant"."""
    one, other = one.lower(), other.lower()
    return (one in _YES and other not in _YES) or re.fullmatch(_NOT + re.escape(one), other) is not None


def _tokenizer(where: str, size: int) -> Tokenizer:
    # The file itself where there is one: transformers 5 may build a T5's anew, a little different.
    if (file := _file(where, TOKENIZER)) is not None:
        tokenizer = Tokenizer.from_file(file)
    else:
        if _file(where, "spiece.model") is not None:
            need("sentencepiece.sentencepiece_model_pb2")  # without it transformers asks for another package
        loaded: Any = transformers.AutoTokenizer.from_pretrained(where)
        tokenizer = Tokenizer.from_str(loaded.backend_tokenizer.to_str())
    # From no file at all transformers 5 makes one that knows no word. A vocabulary is rounded up, though never so far.
    if not size / 2 <= (known := tokenizer.get_vocab_size()) <= size:
        raise MissingError(
            f"The checkpoint {where} lacks its tokenizer: what is found has {known:,} tokens, and the model {size:,}.",
            hint="Save the one that it was trained with in its folder, as "
            '`AutoTokenizer.from_pretrained("t5-large").save_pretrained(FOLDER)` does.',
        )
    return tokenizer


def _file(where: str, name: str) -> str | None:
    found: str | None = transformers.utils.cached_file(where, name, _raise_exceptions_for_missing_entries=False)
    return found


def _settings(name: str, config: Any, tokenizer: Tokenizer, shape: Shape, labels: tuple[str, str] | None) -> Settings:
    ours = getattr(config, OURS, None)
    if ours is not None:
        settings = msgspec.convert(json.loads(json.dumps(ours)), Settings)
        if labels is None or shape != "label":
            return settings
        return msgspec.structs.replace(settings, labels=_label_tokens(name, tokenizer, labels))
    if shape == "cross-encoder":
        length = min(512, config.max_position_embeddings)
        linear = config.problem_type == "regression" and config.num_labels == 1
        return Settings(shape=shape, length=length, activation="linear" if linear else "logistic")
    if config.eos_token_id != 1 or tokenizer.token_to_id("</s>") != 1:
        raise ConfigError(f"{name} does not end its inputs as T5 does: </s> must be token 1.")
    if shape == "classifier":
        # Trained by regression on -1 and 1 (CRAG, appendix B.3).
        return Settings(
            shape=shape, template=CRAG_TEMPLATE, activation="linear" if config.num_labels == 1 else "logistic"
        )
    return Settings(
        shape=shape, template=LABEL_TEMPLATE, labels=_label_tokens(name, tokenizer, labels or ("true", "false"))
    )


def _label_tokens(name: str, tokenizer: Tokenizer, labels: tuple[str, str]) -> tuple[str, str]:
    said, unsaid = (tokenizer.encode(label, add_special_tokens=False).tokens[:1] for label in labels)
    if not said or not unsaid or said == unsaid:
        raise ConfigError(
            f"The tokenizer of {name} does not tell the labels {labels[0]!r} and {labels[1]!r} apart.",
            hint="Name two words that begin differently with --labels.",
        )
    return said[0], unsaid[0]
