"""The bridges, with the real frameworks."""

import sys
from pathlib import Path

import pytest

import robust_qa
from robust_qa import ConfigError, Trusted
from robust_qa.testing import assert_conforms
from rqa_frameworks import HaystackRetriever, LangChainModel, LangChainRetriever, Part

HERE = __name__
TEXT = "A single crossing costs 4.20."


def langchain_retriever() -> object:
    core = pytest.importorskip("langchain_core", reason="needs langchain-core: pip install langchain-core")
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    assert core
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document(TEXT, metadata={"title": "Ferry", "source": "ferry.html"})])
    return store.as_retriever()


def langchain_model() -> object:
    pytest.importorskip("langchain_core", reason="needs langchain-core: pip install langchain-core")
    from langchain_core.language_models import FakeListChatModel

    return FakeListChatModel(responses=["4.20"])


def haystack_store() -> object:
    pytest.importorskip("haystack", reason="needs haystack-ai: pip install haystack-ai")
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    meta = {"title": "Ferry", "file_path": "ferry.html"}
    store.write_documents([Document(content=TEXT, meta=meta, embedding=[1.0] * 384), Document(content="Moles dig.")])
    return store


def haystack_words() -> object:
    store = haystack_store()
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

    return InMemoryBM25Retriever(store)


def haystack_vectors() -> object:
    store = haystack_store()
    from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever

    return InMemoryEmbeddingRetriever(store)


@pytest.mark.parametrize(
    ("plugin", "part"),
    [("langchain", langchain_retriever), ("haystack", haystack_words), ("haystack", haystack_vectors)],
)
def test_a_question_is_answered_from_a_retriever_of_a_framework(plugin: str, part: object) -> None:
    part()  # type: ignore[operator]  # skips without the framework
    retriever = {"plugin": plugin, "object": f"{HERE}:{part.__name__}"}  # type: ignore[attr-defined]
    answer = robust_qa.ask("How much is a single crossing?", retriever=retriever, strategy="rag", reader="embedded")
    [source] = {each.source for each in (*answer.citations, *answer.closest)}
    assert source == "ferry.html"


@pytest.mark.parametrize(("plugin", "part"), [("langchain", langchain_retriever), ("haystack", haystack_words)])
def test_a_document_that_changed_is_answered_from_as_it_is_now(
    plugin: str, part: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    part()  # type: ignore[operator]  # skips without the framework
    retriever = {"plugin": plugin, "object": f"{HERE}:{part.__name__}"}  # type: ignore[attr-defined]
    for price in ("4.20", "9.90"):
        monkeypatch.setattr(sys.modules[HERE], "TEXT", f"A single crossing costs {price}.")
        answer = robust_qa.ask("How much is a single crossing?", retriever=retriever, strategy="rag", reader="embedded")
        [quote] = {each.quote for each in (*answer.citations, *answer.closest)}
        assert quote == f"A single crossing costs {price}."


def test_a_question_is_answered_by_a_chat_model_of_langchain() -> None:
    langchain_model()
    reader = {"plugin": "langchain", "object": f"{HERE}:langchain_model"}
    answer = robust_qa.ask("How much?", passages=[TEXT], reader=reader, strategy="rag")
    assert "4.20" in str(answer.text or answer.best_guess)


def _part(name: str) -> Part:
    return Part(Trusted(f"{HERE}:{name}"))


def test_parts_keep_the_contract() -> None:
    langchain_retriever(), haystack_store()
    assert_conforms("retriever", LangChainRetriever(_part("langchain_retriever")))
    assert_conforms("reader", LangChainModel(_part("langchain_model")))


def test_an_object_that_is_no_such_part_is_named() -> None:
    with pytest.raises(ConfigError, match="Cannot import nowhere:x"):
        LangChainRetriever(Part(Trusted("nowhere:x")))
    with pytest.raises(ConfigError, match="Path has no method `run`"):
        HaystackRetriever(HaystackRetriever.Options(Trusted("pathlib:Path")), embedder=None)  # type: ignore[arg-type]


def test_an_untrusted_file_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rqa.toml").write_text(
        '[retriever.langchain]\nobject = "evil:make"\n\n[defaults]\nretriever = "langchain"\n'
    )
    (tmp_path / "evil.py").write_text("raise SystemExit('the code of a stranger ran')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"does not use this option while .* is not trusted"):
        robust_qa.ask("How much?", config="auto")
