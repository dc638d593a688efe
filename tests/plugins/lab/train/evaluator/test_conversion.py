"""Converted models of every shape give the scores of torch, or conversion fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from standins.tiny_models import write_bert, write_mt5, write_old_t5, write_t5

from robust_qa import ConfigError, MissingError, RqaError
from rqa_t5.engine import Engine
from rqa_t5.folder import read_settings

pytest.importorskip("torch", reason="needs the extra [train]")
pytest.importorskip("transformers", reason="needs the extra [train]")

import torch

from rqa_train.evaluator import checkpoints, conversion

SHAPES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "label T5 v1.0": ("label", lambda to: write_t5(to, head="label", version="1.0")),
    "label T5 v1.1": ("label", lambda to: write_t5(to, head="label", version="1.1")),
    "label mT5": ("label", write_mt5),
    "classifier T5 v1.0": ("classifier", lambda to: write_t5(to, head="classifier", version="1.0")),
    "classifier T5 v1.1": ("classifier", lambda to: write_t5(to, head="classifier", version="1.1")),
    "classifier T5, two labels": ("classifier", lambda to: write_t5(to, head="classifier", version="1.0", labels=2)),
    "BERT, one label": ("cross-encoder", lambda to: write_bert(to)),
    "BERT, two labels": ("cross-encoder", lambda to: write_bert(to, labels=2)),
}
QUESTION = "Who wrote Moby-Dick?"
TEXTS = [
    "Herman Melville wrote it.",
    "Paris is a city on the Seine. " * 30,
    "moles",
    "Ships lay in the ice until April.",
]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    return lambda shape: SHAPES[shape][1](tmp_path / "checkpoint")


@pytest.mark.parametrize("shape", SHAPES)
def test_converted_model_scores_like_transformers(shape: str, write: Any, tmp_path: Path) -> None:
    source = write(shape)
    loaded = checkpoints.load(str(source))
    conversion.convert(loaded, tmp_path / "model", quantization="float32")
    assert read_settings(tmp_path / "model").shape == SHAPES[shape][0]
    engine = Engine(tmp_path / "model")
    pairs = [engine.pairing.pair(QUESTION, text) for text in TEXTS]
    assert engine.logits(pairs) == pytest.approx([by_transformers(source, pair) for pair in pairs], abs=1e-4)


def by_transformers(source: Path, pair: Any) -> float:
    """Compute the logit with transformers' own classes from the token ids."""
    import transformers

    config = json.loads((source / "config.json").read_text())
    (name,) = config["architectures"]
    model = getattr(transformers, name).from_pretrained(source).eval()
    ids = torch.tensor([pair.ids])
    with torch.inference_mode():
        if name.endswith("T5ForConditionalGeneration"):
            tokenizer = json.loads((source / "tokenizer.json").read_text())
            places = [piece for piece, _ in tokenizer["model"]["vocab"]]
            said = model(input_ids=ids, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
            return float(said[places.index("▁true")] - said[places.index("▁false")])
        types = {"token_type_ids": torch.tensor([pair.types])} if pair.types else {}
        logits = model(input_ids=ids, **types).logits[0]
        return float(logits[0]) if len(logits) == 1 else float(logits[1] - logits[0])


TWO = pytest.mark.parametrize("shape", ["classifier T5, two labels", "BERT, two labels"])


def configured(source: Path, **change: Any) -> Path:
    """Change the configuration of the checkpoint in `source`."""
    config = json.loads((source / "config.json").read_text("utf-8")) | change
    (source / "config.json").write_text(json.dumps(config), "utf-8")
    return source


def logit(source: Path, **how: Any) -> float:
    loaded = checkpoints.load(str(source), **how)
    return float(conversion.torch_logits(loaded, [loaded.pairing().pair(QUESTION, TEXTS[0])])[0])


@TWO
def test_neutral_names_mean_second_output_unless_labels_are_given(
    shape: str, write: Any, rqa: Any, tmp_path: Path
) -> None:
    source = write(shape)
    plain = logit(source)
    ended = rqa("evaluator", "convert", source, tmp_path / "model")
    assert "Output 'LABEL_1' means relevant, 'LABEL_0' not relevant. Use --labels" in ended.err
    assert logit(source, labels=("LABEL_1", "LABEL_0")) == pytest.approx(plain)
    assert logit(source, labels=("LABEL_0", "LABEL_1")) == pytest.approx(-plain)
    ended = rqa("evaluator", "convert", source, tmp_path / "turned", "--labels", "LABEL_0,LABEL_1")
    assert "Output 'LABEL_0' means relevant" in ended.err
    with pytest.raises(ConfigError, match=r"The outputs of .* are 'LABEL_0' and 'LABEL_1'"):
        checkpoints.load(str(source), labels=("yes", "no"))


def test_int8_is_close_to_torch(write: Any, tmp_path: Path) -> None:
    proof = conversion.convert(checkpoints.load(str(write("label T5 v1.0"))), tmp_path / "model")
    assert proof.exact < 1e-4
    assert 0 < proof.quantised < 0.2


def test_existing_folder_is_replaced_only_with_force(write: Any, tmp_path: Path) -> None:
    loaded = checkpoints.load(str(write("BERT, one label")))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(ConfigError, match="already exists"):
        conversion.convert(loaded, tmp_path / "mine", force=True)
    conversion.convert(loaded, tmp_path / "model")
    with pytest.raises(ConfigError, match="already exists"):
        conversion.convert(loaded, tmp_path / "model")
    conversion.convert(loaded, tmp_path / "model", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "mine", "model"]


def test_old_checkpoint_tokenises_like_sentencepiece(rqa: Any, tmp_path: Path) -> None:
    """The evaluator that CRAG published has these files."""
    import sentencepiece

    source = write_old_t5(tmp_path / "checkpoint")
    ended = rqa("evaluator", "convert", source, tmp_path / "model")
    assert ended.code == 0, ended.err
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(source / "spiece.model"))
    engine = Engine(tmp_path / "model")
    for text in (*TEXTS, "", "Æther & naïve ﬁ 法国", "¼ of  it:\tＷhales…"):
        read = " ".join(f"{QUESTION} [SEP] {text}".split())
        assert engine.pairing.pair(QUESTION, text).ids == [*pieces.encode(read)[:511], 1]


# -- what cannot be converted


def test_folder_without_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"is not a checkpoint: it has no config\.json"):
        checkpoints.load(str(tmp_path))


def test_a_name_that_the_hub_does_not_give_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(MissingError, match="Cannot load the checkpoint nobody/nothing"):
        checkpoints.load("nobody/nothing")


def test_other_architecture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}')
    with pytest.raises(ConfigError, match="is GPT2LMHeadModel, which is not supported as an evaluator") as error:
        checkpoints.load(str(tmp_path))
    assert "T5ForSequenceClassification" in error.value.hint


def test_bert_without_classifier_must_be_trained(tmp_path: Path) -> None:
    source = str(write_bert(tmp_path / "bert", classifier=False))
    with pytest.raises(ConfigError, match="is BertModel") as error:
        checkpoints.load(source)
    assert "rqa train evaluator" in error.value.hint
    assert checkpoints.load(source, trainable=True).settings.shape == "cross-encoder"


def test_three_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has 3 labels"):
        checkpoints.load(str(write_bert(tmp_path / "bert", labels=3)))


def test_labels_are_saved_and_can_be_changed(write: Any, tmp_path: Path) -> None:
    checkpoints.load(str(write("label T5 v1.0")), labels=("Paris,", "moles")).save(tmp_path / "ours")
    assert checkpoints.load(str(tmp_path / "ours")).settings.labels == ("▁Paris,", "▁moles")
    assert checkpoints.load(str(tmp_path / "ours"), labels=("moles", "true")).settings.labels == ("▁moles", "▁true")


@pytest.mark.parametrize(
    ("shape", "option", "complaint"),
    [
        ("BERT, one label", "--labels=a,b", "is a cross-encoder, which has no labels"),
        ("classifier T5 v1.0", "--labels=a,b", "is a classifier, which has no labels"),
    ],
)
def test_option_without_effect_is_refused(
    rqa: Any, write: Any, tmp_path: Path, shape: str, option: str, complaint: str
) -> None:
    ended = rqa("evaluator", "convert", write(shape), tmp_path / "model", option)
    assert ended.code == 2 and complaint in " ".join(ended.err.split())
    assert not (tmp_path / "model").exists()


def test_missing_thresholds_suggest_calibration(rqa: Any, write: Any, tmp_path: Path) -> None:
    source = write("BERT, one label")
    ended = rqa("evaluator", "convert", source, tmp_path / "bare")
    assert "has no thresholds" in ended.err and "rqa train thresholds" in ended.err
    loaded = checkpoints.load(str(source))
    replace(loaded, settings=msgspec.structs.replace(loaded.settings, upper=0.5, lower=-0.5)).save(tmp_path / "ours")
    assert "thresholds" not in rqa("evaluator", "convert", tmp_path / "ours", tmp_path / "calibrated").err


def test_labels_that_begin_with_the_same_token_are_refused(write: Any) -> None:
    with pytest.raises(ConfigError, match="labels 'q' and 'qq' begin with the same token"):
        checkpoints.load(str(write("label T5 v1.0")), labels=("q", "qq"))


@pytest.mark.parametrize("shape", ["label T5 v1.0", "classifier T5 v1.0", "BERT, one label"])
def test_a_checkpoint_without_its_tokenizer_is_refused(shape: str, write: Any) -> None:
    """Without files, transformers 5 returns a tokenizer without words."""
    source = write(shape)
    (source / "tokenizer.json").unlink()
    with pytest.raises(MissingError, match=f"{source} has no matching tokenizer"):
        checkpoints.load(str(source))


def test_converted_folder_is_no_checkpoint(write: Any, tmp_path: Path) -> None:
    conversion.convert(checkpoints.load(str(write("BERT, one label"))), tmp_path / "model")
    with pytest.raises(MissingError, match="is a converted model folder") as error:
        checkpoints.load(str(tmp_path / "model"))
    assert "`torch` next to" in error.value.hint


def test_nan_weights_are_refused(write: Any, tmp_path: Path) -> None:
    loaded = checkpoints.load(str(write("BERT, one label")))
    loaded.model.classifier.weight.data[:] = float("nan")
    with pytest.raises(RqaError, match="logits differ from torch's by nan"):
        conversion.convert(loaded, tmp_path / "model")


@pytest.mark.parametrize(
    ("shape", "change"),
    [
        ("BERT, one label", {"hidden_act": "tanh"}),
        ("label T5 v1.0", {"decoder_start_token_id": None}),
        ("classifier T5 v1.0", {"decoder_start_token_id": None}),
    ],
)
def test_unsupported_configuration_is_refused(shape: str, change: dict[str, Any], write: Any, tmp_path: Path) -> None:
    loaded = checkpoints.load(str(configured(write(shape), **change)))
    message = f"Cannot convert {tmp_path}.*: torch or CTranslate2 does not support"
    with pytest.raises(RqaError, match=message):
        conversion.convert(loaded, tmp_path / "model")
    with pytest.raises(RqaError, match=message):
        conversion.check_convertible(loaded)


def test_failed_quantisation_keeps_the_old_folder(write: Any, tmp_path: Path) -> None:
    loaded = checkpoints.load(str(write("label T5 v1.0")))
    conversion.convert(loaded, tmp_path / "model")
    before = (tmp_path / "model" / "model.bin").read_bytes()
    loaded.model.shared.weight.data *= 1e6  # more than a float16 holds; T5's norm takes it out again
    with pytest.raises(RqaError, match="to float16: its scores differ by nan") as error:
        conversion.convert(loaded, tmp_path / "model", quantization="float16", force=True)
    assert "--quantization float32" in error.value.hint
    assert (tmp_path / "model" / "model.bin").read_bytes() == before
