"""Checkpoints with random weights, as transformers saves them, that the real engines load in an instant."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

TEXTS = [
    "Who wrote Moby-Dick? Herman Melville wrote the novel about a white whale in 1851.",
    "Query: Document: Relevant: true false the capital of France is Paris, a city on the Seine.",
    "Ships lay in the ice of the harbour until April; moles live under the ground and eat worms.",
]


def t5_tokenizer() -> Any:
    """A unigram tokenizer with T5's special tokens, in which "true" and "false" are words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -20.0), ("▁true", -3.0), ("▁false", -3.0)]
    known = {piece for piece, _ in pieces}
    letters = sorted({letter for text in TEXTS for letter in text} | {"▁"} - {" "})
    for word in [f"▁{word}" for text in TEXTS for word in text.split()] + letters:
        if word not in known:
            known.add(word)
            pieces.append((word, -4.0 if len(word) > 1 else -10.0))
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    return tokenizer


def write_t5(
    folder: Path,
    *,
    head: Literal["label", "classifier"],
    version: Literal["1.0", "1.1"],
    labels: int = 1,
    seed: int = 0,
) -> Path:
    """A T5 with a language model's head or a classifier's; v1.1 (and flan) is gated and ties nothing."""
    import torch
    import transformers
    from safetensors.torch import load_file, save_file

    torch.manual_seed(seed)
    tokenizer = t5_tokenizer()
    old = version == "1.0"
    config = transformers.T5Config(
        vocab_size=tokenizer.get_vocab_size() + 9, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, feed_forward_proj="relu" if old else "gated-gelu",
        tie_word_embeddings=old, num_labels=labels, initializer_factor=1.0,
    )  # fmt: skip
    kind = transformers.T5ForConditionalGeneration if head == "label" else transformers.T5ForSequenceClassification
    model: Any = kind(config)
    model.save_pretrained(folder)
    if not old:  # as published: transformers 5 would save the tied weights alone
        weights = load_file(folder / "model.safetensors")
        if head == "label":
            weights["lm_head.weight"] = torch.randn(config.vocab_size, 32)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        text = (folder / "config.json").read_text("utf-8")
        (folder / "config.json").write_text(
            text.replace('"tie_word_embeddings": true', '"tie_word_embeddings": false'), "utf-8"
        )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_mt5(folder: Path) -> Path:
    """An mT5 with a language model's head, which ties nothing, as published."""
    import torch
    import transformers

    torch.manual_seed(2)
    tokenizer = t5_tokenizer()
    config = transformers.MT5Config(
        vocab_size=tokenizer.get_vocab_size() + 9, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, tie_word_embeddings=False,
    )  # fmt: skip
    model: Any = transformers.MT5ForConditionalGeneration(config)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_bert(folder: Path, *, labels: int = 1, classifier: bool = True, words: Iterable[str] = ()) -> Path:
    """A BERT cross-encoder with one output or two, or the bare encoder. It spells all but `words`."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    torch.manual_seed(1)
    vocabulary = {token: n for n, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])}
    for letter in sorted({letter for text in TEXTS for letter in text.lower()}):
        for piece in (letter, f"##{letter}"):
            vocabulary.setdefault(piece, len(vocabulary))
    for word in words:
        vocabulary.setdefault(word, len(vocabulary))
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.enable_truncation(16)  # as published ones do
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=128, num_labels=labels, initializer_range=0.02 if words else 0.5,
    )  # fmt: skip
    model: Any = (transformers.BertForSequenceClassification if classifier else transformers.BertModel)(config)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_old_t5(folder: Path) -> Path:
    """A T5 with a classification head in the files of older versions: pytorch_model.bin, spiece.model, no more."""
    import io
    import json

    import sentencepiece
    import torch
    import transformers

    torch.manual_seed(3)
    pieces = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=pieces, vocab_size=120, hard_vocab_limit=False,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, minloglevel=2,
    )  # fmt: skip
    config = transformers.T5Config(
        vocab_size=256, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0, num_labels=1, architectures=["T5ForSequenceClassification"],
    )  # fmt: skip
    model: Any = transformers.T5ForSequenceClassification(config)
    folder.mkdir()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    config.save_pretrained(folder)
    (folder / "spiece.model").write_bytes(pieces.getvalue())
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "T5Tokenizer", "extra_ids": 100}))
    return folder
