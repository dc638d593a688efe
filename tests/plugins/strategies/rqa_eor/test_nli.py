"""The similarity `nli` with tiny random classifiers of two families."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from robust_qa import ConfigError, MissingError, Passage, Question, Reading
from robust_qa.testing import ask
from rqa_eor import Eor
from rqa_eor.nli import Classifier  # private: a vote shows only means of the probabilities that are compared here

WORDS = "who wrote emma the novel jane austen in 1815 murray published it paris not".split()


class Texts:
    """A reader that answers with the text of the passage."""

    async def read(self, question: str, passages: list[Passage]) -> Reading:
        return Reading(passages[0].text, None, (0,), 0, 1)


def compared(name: str, folder: Path) -> float:
    """The similarity of the answers "jane austen" and "murray" to the question "who ?"."""
    eor = Eor(Eor.Options(pool=["given-first", "given-last"], similarities=[name], nli_model=folder))
    question = Question("who ?", passages=(Passage("jane austen"), Passage("murray")))
    found: float = ask(eor, question, reader=Texts()).details["similarities"][name][0][1]
    return found


def test_a_folder_without_checkpoint_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"it has no config\.json") as caught:
        compared("nli", tmp_path)
    assert "nli_model" in caught.value.hint


# -- with torch


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))  # it sets that itself, and leaves it
    pytest.importorskip("transformers", reason="needs the extra robust-qa[nli]")
    return pytest.importorskip("torch", reason="needs the extra robust-qa[nli]")


LABELS = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}
SHAPE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "num_labels": 3,
    "id2label": LABELS,
    "label2id": {label: number for number, label in LABELS.items()},
    "initializer_range": 0.4,
}


def bert(folder: Path) -> Path:
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(vocab_size=len(vocabulary), max_position_embeddings=40, **SHAPE)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def deberta(folder: Path) -> Path:
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification, DebertaV2Tokenizer

    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    vocabulary = [(piece, 0.0) for piece in special] + [(f"▁{word}", -2.0) for word in WORDS]
    vocabulary += [(letter, -9.0) for letter in "▁?[]SEP"]
    DebertaV2Tokenizer(vocab=vocabulary, unk_token="[UNK]").save_pretrained(folder)
    version_3 = {
        "relative_attention": True,
        "position_buckets": 16,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": "p2c|c2p",
        "position_biased_input": False,
        "type_vocab_size": 0,
    }
    config = DebertaV2Config(vocab_size=len(vocabulary), max_position_embeddings=40, **version_3, **SHAPE)
    DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("family", [bert, deberta])
def test_the_probabilities_are_those_of_the_checkpoint(torch: Any, family: Any, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(4)
    checkpoint = family(tmp_path / "checkpoint")
    pairs = [("jane austen", "austen wrote emma"), ("1815", "published in 1815"), ("paris", "who ? " * 30)]
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    with torch.no_grad():
        logits = [
            model(**tokenizer(*pair, truncation=True, max_length=40, return_tensors="pt")).logits[0] for pair in pairs
        ]
    expected = [float(row.softmax(0)[2]) for row in logits]
    assert Classifier(checkpoint).entailment(pairs) == pytest.approx(expected, abs=1e-5)
    assert max(expected) - min(expected) > 0.01  # or nothing would be compared


@pytest.mark.skipif(bool(find_spec("torch")), reason="torch is installed")
def test_without_transformers_a_checkpoint_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="needs torch and transformers") as caught:
        compared("nli", tmp_path)
    assert "[nli]" in caught.value.hint


def test_answers_are_compared_both_ways_with_the_question_or_without(torch: Any, tmp_path: Path) -> None:
    torch.manual_seed(4)
    folder = bert(tmp_path / "nli")
    one, other = "jane austen", "murray"
    likely = Classifier(folder).entailment(
        [(one, other), (other, one), (f"who ? {one}", f"who ? {other}"), (f"who ? {other}", f"who ? {one}")]
    )
    assert compared("nli", folder) == pytest.approx(sum(likely[:2]) / 2)
    assert compared("nli-question", folder) == pytest.approx(sum(likely[2:]) / 2)


def test_special_tokens_in_a_text_are_plain_text(torch: Any, tmp_path: Path) -> None:
    torch.manual_seed(4)
    texts = ["[SEP]", "? ? ?", "\ud800", "\ufffd"]  # a mark is three pieces, which the vocabulary lacks
    found = Classifier(bert(tmp_path / "nli")).entailment([(f"jane {text} austen", f"murray {text}") for text in texts])
    assert found[0] == pytest.approx(found[1]) and found[2] == pytest.approx(found[3])
    assert abs(found[1] - found[3]) > 0.01  # or nothing would be compared


def test_checkpoint_without_entailment_is_refused(torch: Any, tmp_path: Path) -> None:
    checkpoint = bert(tmp_path / "checkpoint")
    config = json.loads((checkpoint / "config.json").read_text())
    config["id2label"] = {"0": "A", "1": "B", "2": "C"}
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="A, B, C, but no entailment"):
        compared("nli", checkpoint)
