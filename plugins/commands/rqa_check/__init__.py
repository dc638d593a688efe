"""`rqa check` says of each sentence of an answer whether passages support it, contradict it or leave it open."""

from __future__ import annotations

from .checking import check_answer
from .verdicts import Checked

__all__ = ["Checked", "check_answer"]
