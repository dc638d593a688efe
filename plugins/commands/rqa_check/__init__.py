"""`rqa check` says of each sentence of an answer whether passages support it, contradict it or leave it open."""

from __future__ import annotations

from robust_qa import Checked

from .checking import check_answer

__all__ = ["Checked", "check_answer"]
