"""The same words under other ids: what lets an encoder of another family learn beside a BERT, and teach it."""

from __future__ import annotations

from pathlib import Path

from robust_qa import InputError

_SPECIAL = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[UNK]": "<unk>", "[MASK]": "<mask>"}


def translation(theirs: Path, ours: Path) -> list[int] | None:
    """The id in the tokenizer file `theirs` of each token of `ours`, by ours; None where all are the same.

    Raises InputError where a token of ours is none of theirs: scores of tokens could not be compared.
    """
    from tokenizers import Tokenizer

    ids = Tokenizer.from_file(str(theirs)).get_vocab()
    words = Tokenizer.from_file(str(ours)).get_vocab()
    if ids == words:
        return None
    table = [0] * (1 + max(words.values()))
    for word, own in words.items():
        found = ids.get(word, ids.get(_SPECIAL.get(word, word)))
        if found is None:
            raise InputError(
                f"The encoder of {theirs.parent} does not have {word!r} among its tokens, and the reader does.",
                hint="Take one with the lower-cased WordPiece vocabulary of BERT, as MPNet, MiniLM and bert-*-uncased.",
            )
        table[own] = found
    return table
