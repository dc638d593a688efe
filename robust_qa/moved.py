"""Names that earlier versions of `robust_qa` exported, and their new modules."""

from __future__ import annotations

from typing import NoReturn

_RENAMED = {
    "citations": "cite_reading",
    "remark": "warn",
    "spoken": "final_reply",
    "stated_answer": "final_answer",
    "each_alone": "ask_each",
    "flat": "single_line",
    "titled": "with_title",
    "raised": "superscript",
    "stands_in": "contains_words",
}
_NAMES = {
    "robust_qa.answering": "Session",
    "robust_qa.batch": "answered_by check_rows portable unread_passages",
    "robust_qa.cli": """Answering KeyValue Run answering_options command_group console cost_line jobs_option
        output_option passages_in""",
    "robust_qa.cli.batch_run": "Target answer_rows in_session",
    "robust_qa.documents": "charset",
    "robust_qa.kit": """STOPWORDS content_terms Prompt answer_key arrange between cite cite_reading contains_answer
        cores data_dir declines ask_each even_batches fenced single_line gold_facts is_loopback load_prompts
        named_documents normalise one_line parse_expression parse_object parse_objects printable superscript warn
        retry_after says_unknown sentences final_reply contains_words final_answer with_title visible
        whole_characters without_thoughts words""",
}


def raise_moved(name: str) -> NoReturn:
    """Raise ImportError with the new import if `name` has moved, otherwise AttributeError."""
    now = _RENAMED.get(name, name)
    for module, names in _NAMES.items():
        if now in names.split():
            raise ImportError(f"robust_qa.{name} has moved. Write: from {module} import {now}")
    raise AttributeError(f"module 'robust_qa' has no attribute {name!r}")
