"""`rqa check` says of each sentence of an answer whether passages support it, contradict it or do not have it."""

from __future__ import annotations

from .agreement import Checked
from .checking import LEAST, check_answer, close_sentences, verdict

__all__ = ["LEAST", "Checked", "check_answer", "close_sentences", "verdict"]
