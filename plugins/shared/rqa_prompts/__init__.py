"""Ask language models in words: prompts, forms of replies, and how replies are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

from .context_window import estimate_tokens
from .forms import ANSWER, NOTE, NUMBER, TEXT, Filled, Form, Prompter, list_of, numbers_of, object_of
from .labels import Labels, in_either_form
from .prompts import Prompts, arrange, fenced, load_prompts
from .replies import (
    UNKNOWN,
    answer_line,
    between,
    declines,
    final_answer,
    final_reply,
    is_cut,
    json_preview,
    labelled_answer,
    named_documents,
    one_line,
    parse_object,
    parse_objects,
    prose_preview,
    says_unknown,
    without_thoughts,
)

if TYPE_CHECKING:
    from robust_qa import Registry

__all__ = [
    "ANSWER",
    "NOTE",
    "NUMBER",
    "TEXT",
    "UNKNOWN",
    "Filled",
    "Form",
    "Labels",
    "Prompter",
    "Prompts",
    "answer_line",
    "arrange",
    "between",
    "declines",
    "estimate_tokens",
    "fenced",
    "final_answer",
    "final_reply",
    "in_either_form",
    "is_cut",
    "json_preview",
    "labelled_answer",
    "list_of",
    "load_prompts",
    "named_documents",
    "numbers_of",
    "object_of",
    "one_line",
    "parse_object",
    "parse_objects",
    "prose_preview",
    "says_unknown",
    "without_thoughts",
]


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register what asks language models for the host."""
    registry.prompting("rqa_prompts.prompting:Prompting")
