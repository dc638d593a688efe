"""The plugins that come with rqa: their components and commands. A class is imported when it is used."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    from robust_qa import Registry


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register everything, by room."""
    _strategies(registry)
    _formats(registry)
    _retrievers(registry)
    _readers_and_evaluators(registry)
    _commands(registry)
    _lab(registry)


def _strategies(registry: Registry) -> None:
    add = registry.strategy
    add(
        "astute",
        "rqa_astute:Astute",
        rank=30,
        needs={"retrieve", "generate"},
        summary="weighs passages against what the model knows, by source",
    )
    add(
        "corroborate",
        "rqa_corroborate:Corroborate",
        rank=22,
        needs={"retrieve", "read", "quote"},
        summary="reads each source alone, and weighs how many independent ones agree",
    )
    add(
        "rag",
        "rqa_rag:Rag",
        rank=20,
        needs={"retrieve", "read"},
        summary="answers from the retrieved passages, and cites them",
    )
    add("norag", "rqa_norag:NoRag", rank=10, needs={"generate"}, summary="asks the language model alone")
    add(
        "activerag",
        "rqa_activerag:ActiveRag",
        rank=25,
        needs={"retrieve", "generate"},
        summary="corrects its own reasoning by what it learns from the passages",
    )
    add(
        "cascade",
        "rqa_cascade:Cascade",
        rank=40,
        needs={"retrieve", "generate"},
        summary="answers without a language model if it is sure, else asks one and checks what it says",
    )
    add(
        "consensus",
        "rqa_consensus:Consensus",
        summary="reads each passage alone and takes a vote that planted ones lose",
    )
    add("crag", "rqa_crag:Crag", summary="judges the passages, keeps what is relevant, and searches for the rest")
    add("eor", "rqa_eor:Eor", summary="reads with many retrievers at once and lets their answers vote")
    add(
        "madam",
        "rqa_madam:Madam",
        summary="lets one agent for each passage answer and debate, and keeps the valid answers",
    )
    add(
        "sufficient",
        "rqa_sufficient:Sufficient",
        summary="abstains or searches on if the passages do not suffice for a sure answer",
    )
    add(
        "trustrag",
        "rqa_trustrag:TrustRag",
        summary="leaves out passages that are suspiciously alike, and answers from the others",
    )


def _formats(registry: Registry) -> None:
    add = registry.format
    add("man", "rqa_roff:read", suffixes="[1-9][a-z]*", sniff="rqa_roff:is_roff")
    add("rst", "rqa_rst:read", suffixes="rst")
    add("subtitles", "rqa_subtitles:read", suffixes="srt|vtt")
    add("calendar", "rqa_records:read_lines", suffixes="ics|vcs")
    add("contacts", "rqa_records:read_lines", suffixes="vcf|vcard")
    add("bibtex", "rqa_records:read_bibtex", suffixes="bib|bibtex")
    add("mailbox", "rqa_mail:read_mailbox", suffixes="mbox")
    add("mail", "rqa_mail:read_mail", suffixes="eml|mht|mhtml")
    add("message", "rqa_mail:read_mail", sniff="rqa_mail:is_mail")


def _retrievers(registry: Registry) -> None:
    add = registry.retriever
    add("hybrid", "rqa_bm25:Hybrid", rank=20, summary="BM25 and vectors over your own files, indexed on disk")
    add("bm25", "rqa_bm25:Bm25", rank=10, summary="BM25 over your own files, indexed on disk")
    add("web", "rqa_web:Web", summary="web search, and the pages it finds")
    add("pg", "rqa_postgres:Postgres", summary="Full text and vectors in Postgres, or a query of your own")
    add("langchain", "rqa_frameworks:LangChainRetriever", summary="any retriever of LangChain")
    add("haystack", "rqa_frameworks:HaystackRetriever", summary="any retriever of Haystack, over any of its stores")


def _readers_and_evaluators(registry: Registry) -> None:
    reader, evaluator, embedder = registry.reader, registry.evaluator, registry.embedder
    reader("embedded", "rqa_embedded:EmbeddedReader", rank=20, summary="extracts answers with the packaged model")
    evaluator("embedded", "rqa_embedded:EmbeddedEvaluator", rank=20, summary="scores texts with the packaged model")
    embedder("embedded", "rqa_embedded:EmbeddedEmbedder", rank=10, summary="vectors of the packaged model, offline")
    embedder("e5", "rqa_e5:E5", rank=20, summary="vectors of multilingual-e5-small, offline, for 100 languages")
    reader("lexical", "rqa_lexical:Lexical", rank=10, summary="finds answers by shared words; needs no model")
    evaluator("lexical", "rqa_lexical:Overlap", rank=1, summary="scores texts by shared words; needs no model")
    reader("llamacpp", "rqa_llamacpp.reader:LlamaCpp", summary="a GGUF language model in this process")
    reader("openai", "rqa_openai:OpenAI", summary="any OpenAI-compatible chat endpoint, hosted or local")
    reader("llm", "rqa_llm:Llm", summary="any model that the program llm knows by name")
    reader("langchain", "rqa_frameworks:LangChainModel", summary="any chat model of LangChain")
    embedder("llm", "rqa_llm:LlmEmbedder", summary="any embedding model that the program llm knows")
    embedder("openai", "rqa_openai.embeddings:Embeddings", summary="any OpenAI-compatible embeddings endpoint")
    evaluator("rerank", "rqa_openai.reranking:Reranker", summary="any rerank endpoint: llama-server, vLLM, Jina")
    evaluator("t5", "rqa_t5:T5", rank=10, summary="a trained T5 or BERT on CTranslate2, offline")
    evaluator("judge", "rqa_judge:Judge", summary="a language model that says yes or no of each text")


def _commands(registry: Registry) -> None:
    ask, serve = (partial(registry.command, section=section) for section in ("Ask", "Serve"))
    ask("chat", "rqa_chat.command:chat", summary="Ask questions in a conversation, in the terminal.")
    ask("check", "rqa_check.command:check", summary="Check each sentence of an answer against documents.")
    registry.command(
        "lint",
        "rqa_lint.command:lint",
        summary="Find disagreements, duplicates and hidden text in documents.",
        section="Documents",
    )
    registry.command(
        "models",
        "rqa_llamacpp.commands:models",
        summary="List and download models for the reader llamacpp.",
        section="Set up",
    )
    serve("mcp", "rqa_mcp.command:mcp", summary="Give agents tools over the Model Context Protocol.")
    ask("search", "rqa_search.command:search", summary="Find passages, without a reader.")
    serve("serve", "rqa_serve.command:serve", summary="Answer questions over HTTP, as OpenAI's chat completions.")
    registry.tools("rqa_check.checking:tools")
    registry.engine("provider", "rqa_provider:Provider", summary="answers in batches of the provider, at half price")
    registry.engine("ray", "rqa_ray:Ray", summary="answers on the machines of a Ray cluster")


def _lab(registry: Registry) -> None:
    measure = partial(registry.command, section="Measure")
    measure("compare", "rqa_eval.compare:compare", summary="Answer a question with several strategies side by side.")
    measure("eval", "rqa_eval.commands:evaluate_sets", summary="Compare the accuracy and cost of strategies.")
    measure("report", "rqa_eval.report.commands:report", summary="Show the results of evaluation runs.")
    registry.metrics("rqa_eval.metrics:METRICS")
    for name, target, summary in (
        ("answer_refinement", "prompted:AnswerRefinement", "reconsiders its answer from memory with the passages"),
        ("chain_of_note", "prompted:ChainOfNote", "notes what each passage is worth, and answers from the notes"),
        ("compact", "compact:CompAct", "compresses the passages toward the question, and reads the summary"),
        (
            "context_filtering",
            "context_filtering:ContextFiltering",
            "picks the passages that help, and reads only those",
        ),
        ("cove", "stepwise:ChainOfVerification", "checks its answer by questions that it answers alone"),
        ("cot", "prompted:ChainOfThought", "reasons step by step from memory"),
        ("genread", "remembering:GenRead", "reads a passage of its own along with the retrieved ones"),
        ("instructrag", "prompted:InstructRag", "explains how the answer follows from the passages that help"),
        ("ircot", "stepwise:InterleavedRetrieval", "retrieves with each sentence of its reasoning"),
        ("madra", "madra:Madra", "lets agents with and without the passages debate the answer"),
        ("robustrag", "robustrag:RobustRag", "reads each passage alone, and answers from what the readings share"),
        ("self_consistency", "sampled:SelfConsistency", "reasons over the passages several times, and votes"),
        ("self_rag", "self_rag:SelfRag", "continues after each passage, and judges that by reflection tokens"),
        ("self_route", "remembering:SelfRoute", "answers from the passages, or else from memory"),
        ("usc", "sampled:UniversalSelfConsistency", "answers several times, and picks the most consistent reply"),
    ):
        registry.strategy(name, f"rqa_baselines.{target}", summary=summary)
