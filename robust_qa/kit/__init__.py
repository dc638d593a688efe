"""For strategy authors: prompts, model replies, answer normalisation, citations and calls to servers.

Nothing here is needed to write a plugin. It is what the built-in strategies share.
"""

from __future__ import annotations

from ..config.environment import cores, data_dir
from ..config.installation import install_hint
from ..config.keys import is_loopback
from ..expressions import parse_expression
from ..prompt import Prompt
from ..sanitize import flat, printable, visible, whole_characters
from .batches import even_batches
from .citations import cite, cite_reading, stands_in
from .http import read_body, retry_after
from .per_passage import each_alone
from .prompts import arrange, fenced, load_prompts
from .replies import (
    between,
    declines,
    named_documents,
    one_line,
    parse_object,
    parse_objects,
    says_unknown,
    spoken,
    stated_answer,
    without_thoughts,
)
from .text import answer_key, contains_answer, gold_facts, normalise, raised, sentences, titled, words
from .warnings import remark

__all__ = [
    "Prompt",
    "answer_key",
    "arrange",
    "between",
    "cite",
    "cite_reading",
    "contains_answer",
    "cores",
    "data_dir",
    "declines",
    "each_alone",
    "even_batches",
    "fenced",
    "flat",
    "gold_facts",
    "install_hint",
    "is_loopback",
    "load_prompts",
    "named_documents",
    "normalise",
    "one_line",
    "parse_expression",
    "parse_object",
    "parse_objects",
    "printable",
    "raised",
    "read_body",
    "remark",
    "retry_after",
    "says_unknown",
    "sentences",
    "spoken",
    "stands_in",
    "stated_answer",
    "titled",
    "visible",
    "whole_characters",
    "without_thoughts",
    "words",
]
