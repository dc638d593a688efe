"""What papers compare with: strategies, question sets, metrics, recipes and reports for `rqa eval`.

The entry points in pyproject.toml name what `rqa eval` and `rqa report` look up.
"""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the strategies, the commands and the metrics."""
    registry.command(
        "compare",
        "rqa_lab.compare:compare",
        section="Measure",
        summary="Answer a question with several strategies, equal answers together.",
    )
    registry.command(
        "grid",
        "rqa_lab.grid:grid",
        section="Measure",
        summary="Evaluate every combination of readers, numbers of passages, seeds and strategies.",
    )
    registry.command(
        "inconsistency",
        "rqa_lab.inconsistency.command:inconsistency",
        section="Measure",
        summary="Show how the strategies of an evaluation run disagree.",
    )
    registry.command(
        "judge",
        "rqa_lab.judging.command:judge",
        section="Measure",
        summary="Judge the answers of an evaluation run claim by claim.",
    )
    registry.command(
        "plant",
        "rqa_lab.planting:plant",
        section="Measure",
        summary="Attack the retriever with false documents in a copy of a folder.",
    )
    registry.metrics("rqa_lab.metrics:METRICS")
    registry.strategy(
        "adaptive_rag",
        "rqa_lab.baselines.adaptive:AdaptiveRag",
        summary="retrieves not at all, once or several times, by how hard the question is",
    )
    registry.strategy(
        "answer_refinement",
        "rqa_lab.baselines.prompted:AnswerRefinement",
        summary="reconsiders its answer from memory with the passages",
    )
    registry.strategy(
        "cad",
        "rqa_lab.baselines.adaptive:ContextAware",
        summary="decodes what the passages make likelier than memory does",
    )
    registry.strategy(
        "chain_of_note",
        "rqa_lab.baselines.prompted:ChainOfNote",
        summary="notes what each passage is worth, and answers from the notes",
    )
    registry.strategy(
        "compact",
        "rqa_lab.baselines.compact:CompAct",
        summary="compresses the passages toward the question, and reads the summary",
    )
    registry.strategy(
        "context_filtering",
        "rqa_lab.baselines.context_filtering:ContextFiltering",
        summary="picks the passages that help, and reads only those",
    )
    registry.strategy(
        "cove",
        "rqa_lab.baselines.stepwise:ChainOfVerification",
        summary="checks its answer by questions that it answers alone",
    )
    registry.strategy("cot", "rqa_lab.baselines.prompted:ChainOfThought", summary="reasons step by step from memory")
    registry.strategy(
        "flare",
        "rqa_lab.baselines.active:Flare",
        summary="retrieves when it is unsure of the next sentence",
    )
    registry.strategy(
        "genread",
        "rqa_lab.baselines.remembering:GenRead",
        summary="reads a passage of its own along with the retrieved ones",
    )
    registry.strategy(
        "instructrag",
        "rqa_lab.baselines.prompted:InstructRag",
        summary="explains how the answer follows from the passages that help",
    )
    registry.strategy(
        "ircot",
        "rqa_lab.baselines.stepwise:InterleavedRetrieval",
        summary="retrieves with each sentence of its reasoning",
    )
    registry.strategy(
        "iter_retgen",
        "rqa_lab.baselines.active:IterRetGen",
        summary="retrieves again with its whole reply",
    )
    registry.strategy(
        "madra", "rqa_lab.baselines.madra:Madra", summary="lets agents with and without the passages debate the answer"
    )
    registry.strategy(
        "recomp",
        "rqa_lab.baselines.adaptive:Recomp",
        summary="reads only the sentences that are most relevant",
    )
    registry.strategy(
        "robustrag",
        "rqa_lab.baselines.robustrag:RobustRag",
        summary="reads each passage alone, and answers from what the readings share",
    )
    registry.strategy(
        "self_consistency",
        "rqa_lab.baselines.sampled:SelfConsistency",
        summary="reasons over the passages several times, and votes",
    )
    registry.strategy(
        "self_rag",
        "rqa_lab.baselines.self_rag:SelfRag",
        summary="continues after each passage, and judges that by reflection tokens",
    )
    registry.strategy(
        "self_route",
        "rqa_lab.baselines.remembering:SelfRoute",
        summary="answers from the passages, or else from memory",
    )
    registry.strategy(
        "usc",
        "rqa_lab.baselines.sampled:UniversalSelfConsistency",
        summary="answers several times, and picks the most consistent reply",
    )
