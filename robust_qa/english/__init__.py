"""Patterns for questions and answers in English, for readers without a language model."""

from __future__ import annotations

from .candidate_answers import candidates
from .evidence import Candidate
from .terms import STOPWORDS, content_terms

__all__ = ["STOPWORDS", "Candidate", "candidates", "content_terms"]
