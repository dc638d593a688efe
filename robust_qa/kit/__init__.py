"""For strategy authors: prompts, model replies, answer normalisation, citations and calls to servers.

Nothing here is needed to write a plugin. It is what the built-in strategies share.
"""

from __future__ import annotations

from ..config.environment import cache_dir, cores, data_dir
from ..config.files import atomic_write, put_in_place
from ..config.installation import install_hint
from ..config.keys import is_loopback
from ..expressions import parse_expression
from ..prompt import Prompt
from ..sanitize import printable, single_line, visible, whole_characters
from .checking import check_claim, is_foreign_to, missing_from
from .citations import cite, cite_reading, contains_words
from .claims import Claim, may_agree, same_name, says_same, sentence_around, sentence_at, source_of
from .editions import Edition, edition_of, iso_date, versions_in
from .forms import ANSWER, NOTE, NUMBER, TEXT, Filled, Form, Prompter, ask_each, list_of, numbers_of, object_of
from .fusion import fused
from .http import read_body, retry_after
from .labels import Labels, in_either_form
from .prompts import Prompts, arrange, fenced, load_prompts
from .quantity import Quantity, quantities, same_value, with_digits, with_normal_quantities
from .quotes import cite_quote, closest_quotes, closest_texts, quote_windows
from .refusals import FILTERED, Refusal, connection_error, httpx_errors, json_object
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
from .text import (
    STOPWORDS,
    answer_key,
    contains_answer,
    content_terms,
    even_batches,
    gold_facts,
    is_row,
    is_yes_no,
    language_of,
    language_of_question,
    near_copies,
    normalise,
    sentences,
    statements,
    superscript,
    term_spans,
    with_parts,
    with_title,
    without_mark,
    words,
)
from .warnings import PLAIN_TEXT, collected_warnings, warn

__all__ = [
    "ANSWER",
    "FILTERED",
    "NOTE",
    "NUMBER",
    "PLAIN_TEXT",
    "STOPWORDS",
    "TEXT",
    "UNKNOWN",
    "Claim",
    "Edition",
    "Filled",
    "Form",
    "Labels",
    "Prompt",
    "Prompter",
    "Prompts",
    "Quantity",
    "Refusal",
    "answer_key",
    "answer_line",
    "arrange",
    "ask_each",
    "atomic_write",
    "between",
    "cache_dir",
    "check_claim",
    "cite",
    "cite_quote",
    "cite_reading",
    "closest_quotes",
    "closest_texts",
    "collected_warnings",
    "connection_error",
    "contains_answer",
    "contains_words",
    "content_terms",
    "cores",
    "data_dir",
    "declines",
    "edition_of",
    "even_batches",
    "fenced",
    "final_answer",
    "final_reply",
    "fused",
    "gold_facts",
    "httpx_errors",
    "in_either_form",
    "install_hint",
    "is_cut",
    "is_foreign_to",
    "is_loopback",
    "is_row",
    "is_yes_no",
    "iso_date",
    "json_object",
    "json_preview",
    "labelled_answer",
    "language_of",
    "language_of_question",
    "list_of",
    "load_prompts",
    "may_agree",
    "missing_from",
    "named_documents",
    "near_copies",
    "normalise",
    "numbers_of",
    "object_of",
    "one_line",
    "parse_expression",
    "parse_object",
    "parse_objects",
    "printable",
    "prose_preview",
    "put_in_place",
    "quantities",
    "quote_windows",
    "read_body",
    "retry_after",
    "same_name",
    "same_value",
    "says_same",
    "says_unknown",
    "sentence_around",
    "sentence_at",
    "sentences",
    "single_line",
    "source_of",
    "statements",
    "superscript",
    "term_spans",
    "versions_in",
    "visible",
    "warn",
    "whole_characters",
    "with_digits",
    "with_normal_quantities",
    "with_parts",
    "with_title",
    "without_mark",
    "without_thoughts",
    "words",
]
