"""What other distributions add to `rqa eval` and `rqa report`: entry points of the groups rqa_eval.KIND."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, Literal

from robust_qa import MissingError
from robust_qa.kit import install_hint

# What robust-qa-lab adds, so that rqa can say so where it is missing.
LAYOUTS = (
    "ctxs", "squad", "hotpotqa", "ramdocs", "triviaqa", "promptfoo", "asqa", "bioasq", "rgb", "arc", "pubhealth",
    "kilt", "beir", "self-rag", "nq", "musique", "alce", "nq-swap", "conflictbank", "wikicontradict",
)  # fmt: skip
ATTACKS = ("counterfactual", "inject", "single", "flood", "numeric")
# Each is made against one defence, so `--attack all` leaves them out.
ADAPTIVE = ("adaptive-consensus", "adaptive-trustrag", "adaptive-robustrag", "adaptive-astute")
FORMATS = ("html", "latex", "pgfplots", "pdf")
METRICS = (
    "strict", "contains", "recall", "str-em", "first-gold-recall", "rouge-l", "citation-precision", "citation-recall",
    "supported", "memory-passages", "planted-found",
)  # fmt: skip
VIEWS = ("retrieval-precision", "conflict", "conflict-rate", "knowledge")
RATE = "conflict-rate"
STRATEGIES = (
    "adaptive_rag", "answer_refinement", "cad", "chain_of_note", "compact", "context_filtering", "cot", "cove", "flare",
    "genread", "instructrag", "ircot", "iter_retgen", "madra", "recomp", "robustrag", "self_consistency", "self_rag",
    "self_route", "usc",
)  # fmt: skip

Kind = Literal[
    "layouts", "attacks", "formats", "views", "tables", "cards", "recipes", "conditions", "spread", "records"
]


def find(kind: Kind, name: str, *, said: str = "") -> Any:
    """Return what a distribution adds by that name. Raises MissingError, about `said` in place of the name."""
    for entry in entry_points(group=f"rqa_eval.{kind}", name=name):
        return entry.load()
    raise in_lab(said or name)


def every(kind: Kind) -> list[Any]:
    """Return all that distributions add of that kind."""
    return [entry.load() for entry in entry_points(group=f"rqa_eval.{kind}")]


def in_lab(name: str) -> MissingError:
    """Return the error that `name` is in a distribution that is not installed."""
    return MissingError(f"`{name}` is in robust-qa-lab.", hint=f"Install it: `{install_hint('lab')}`.")
