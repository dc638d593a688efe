from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import robust_qa
from robust_qa import ConfigError, Decoding, Message, UnavailableError
from robust_qa.testing import assert_conforms

llm = pytest.importorskip("llm", reason="needs the program llm: pip install llm")

from rqa_llm import Llm, LlmEmbedder  # noqa: E402

FERRY = robust_qa.Passage("A single crossing costs 4.20.", title="Ferry")


class Oracle(llm.Model):  # type: ignore[misc]
    model_id = "oracle"
    supports_schema = True

    class Options(llm.Options):  # type: ignore[misc]
        temperature: float | None = None

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        if "fail" in prompt.prompt:
            raise OSError("the line is down")
        response.set_usage(input=7, output=2)
        yield '{"known": true}' if prompt.schema else f"4.20 {prompt.options.temperature} {prompt.system}"


class Lengths(llm.EmbeddingModel):  # type: ignore[misc]
    model_id = "lengths"

    def embed_batch(self, items: Any) -> Iterator[list[float]]:
        return ([1.0, *(float(item.count(letter)) for letter in "aeinorst")] for item in items)


class Plugin:
    @staticmethod
    @llm.hookimpl
    def register_models(register: Any) -> None:
        register(Oracle(), aliases=("seer",))

    @staticmethod
    @llm.hookimpl
    def register_embedding_models(register: Any) -> None:
        register(Lengths())


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    from llm.plugins import pm

    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    pm.register(Plugin, "oracle")
    yield
    pm.unregister(Plugin)


def test_reader_and_embedder_keep_the_contract() -> None:
    assert_conforms("reader", Llm(Llm.Options("seer")))
    assert_conforms("embedder", LlmEmbedder(LlmEmbedder.Options("lengths")))


def test_a_model_gets_the_messages_and_the_options_that_it_knows() -> None:
    messages = [Message("system", "Be brief."), Message("user", "How much?")]
    reply = Llm(Llm.Options("oracle")).generate(messages, Decoding(temperature=0.5, seed=1))
    assert reply.text == "4.20 0.5 Be brief."
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (7, 2)


def test_an_unknown_model_and_a_failed_call_are_said() -> None:
    with pytest.raises(ConfigError, match="no model 'nobody'"):
        Llm(Llm.Options("nobody"))
    with pytest.raises(UnavailableError, match="oracle of llm failed: the line is down"):
        Llm(Llm.Options("oracle")).generate([Message("user", "fail")], Decoding())


def test_a_question_is_answered_with_a_model_of_llm() -> None:
    reader = {"plugin": "llm", "model": "oracle"}
    answer = robust_qa.ask("How much is a crossing?", passages=[FERRY], reader=reader, strategy="rag")
    assert answer.usage.calls == 1
