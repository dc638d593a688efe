"""What texts claim: values, editions of documents, what they are about, and verdicts of claims by sources."""

from __future__ import annotations

from .alignment import Aligned, Standing, align
from .arithmetic import Worked, operation, work_out
from .claims import Claim, may_agree, same_name, says_same, sentence_around, sentence_at, source_of
from .editions import Edition, date_in, edition_of, stated, versions_in
from .neighbours import Asked, of_the_same, says_cell
from .numbers import with_digits
from .reading import dates, values, with_normal_values, without
from .relative import worked_out_times
from .values import Relation, Value, relate
from .verdicts import check_claim, is_foreign_to, missing_from

__all__ = [
    "Aligned",
    "Asked",
    "Claim",
    "Edition",
    "Relation",
    "Standing",
    "Value",
    "Worked",
    "align",
    "check_claim",
    "date_in",
    "dates",
    "edition_of",
    "is_foreign_to",
    "may_agree",
    "missing_from",
    "of_the_same",
    "operation",
    "relate",
    "same_name",
    "says_cell",
    "says_same",
    "sentence_around",
    "sentence_at",
    "source_of",
    "stated",
    "values",
    "versions_in",
    "with_digits",
    "with_normal_values",
    "without",
    "work_out",
    "worked_out_times",
]
