"""Training: fit a model, or the parameters of a strategy, to questions of your own, and write such questions.

`reader` makes models for the reader `embedded`, and `evaluator` for the evaluator `t5`. They share the training loop
(loop.py), the conversion to CTranslate2, the model card and the metrics. `eor` fits a strategy.
This is a distribution of its own, because it needs torch and few need it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    from robust_qa import Registry


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the commands. A command is imported when it runs."""
    add = partial(registry.command, section="Measure")
    registry.group("train", "Train on questions of your own.")
    add("train eor", "rqa_train.eor.command:eor", summary="Fit the weights of the strategy eor.")
    add(
        "train documents",
        "rqa_train.reader.over_documents:documents",
        summary="Continue a reader on questions over your own documents.",
    )
    add("train reader", "rqa_train.reader.command:reader", summary="Train, convert and calibrate a reader.")
    add("train evaluator", "rqa_train.evaluator.command:train", summary="Train and convert an evaluator.")
    tools = "rqa_train.evaluator.tools:{}".format
    add("train thresholds", tools("calibrate_thresholds"), summary="Choose the thresholds of the strategy crag.")
    add("evaluator", tools("evaluator"), summary="Convert evaluators.")
