"""The reader, evaluator and embedder `embedded`: one small packaged model extracts, scores and makes vectors.

They work offline on a CPU. The model (MiniLM, 6 layers, int8) marks the answer in each passage or finds none
(engine.py, windows.py, spans.py). The reader ranks the parts of passages (evidence.py) and weighs their answers
(choice.py). Train your own model with `rqa train reader`.
"""

from __future__ import annotations

from robust_qa import Registry, hookimpl

from .reader import EmbeddedEmbedder, EmbeddedEvaluator, EmbeddedReader

__all__ = ["EmbeddedEmbedder", "EmbeddedEvaluator", "EmbeddedReader"]


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.reader(
        "embedded", "rqa_embedded:EmbeddedReader", rank=20, summary="extracts answers with the packaged model"
    )
    registry.evaluator(
        "embedded", "rqa_embedded:EmbeddedEvaluator", rank=20, summary="scores texts with the packaged model"
    )
    registry.embedder(
        "embedded", "rqa_embedded:EmbeddedEmbedder", rank=10, summary="vectors of the packaged model, offline"
    )
