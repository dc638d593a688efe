"""The reader, with the real llama.cpp with a tiny model of random weights."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
import time
from pathlib import Path

import pytest

from robust_qa import Completion, ConfigError, ContextError, Decoding, Message, MissingError, PluginError, RqaError
from robust_qa.kit import install_hint
from robust_qa.testing import assert_conforms

pytest.importorskip("llama_cpp", reason="needs the extra [llama]")

from rqa_llamacpp.reader import LlamaCpp

SCHEMA = {
    "type": "object",
    "properties": {
        "answer": {"type": ["string", "null"], "maxLength": 12},
        "documents": {"type": "array", "items": {"type": "integer", "enum": [1, 2, 3]}, "maxItems": 2},
    },
    "required": ["answer", "documents"],
}
SAMPLED = Decoding(temperature=1.0, max_tokens=40)


@pytest.fixture
def open_reader(tiny):
    """Return a function that opens readers, by default with the tiny model. They are closed after the test."""
    readers: list[LlamaCpp] = []

    def open_reader(model: Path = tiny, **options) -> LlamaCpp:
        readers.append(LlamaCpp(LlamaCpp.Options(model=str(model), **{"n_threads": 1, **options})))
        return readers[-1]

    yield open_reader
    for reader in readers:
        reader.close()


@pytest.fixture
def reader(open_reader) -> LlamaCpp:
    return open_reader(n_batch=32)


async def test_a_stream_has_the_same_reply_in_pieces(reader):
    ask, pieces = [Message("user", "Count.")], list[str]()
    streamed = await reader.generate_stream(ask, SAMPLED, pieces.append)
    assert streamed == await reader.generate(ask, SAMPLED)
    assert len(pieces) > 5 and "".join(pieces).strip().startswith(streamed.text[:20].strip())


def test_it_conforms_to_the_contract_of_a_reader(reader):
    assert_conforms("reader", reader)


def user(text: str) -> list[Message]:
    return [Message("user", text)]


async def ask(reader: LlamaCpp, text: str, decoding: Decoding = SAMPLED) -> Completion:
    return await reader.generate(user(text), decoding)


def evaluated(reader: LlamaCpp) -> int:
    """Return the number of prompt tokens computed so far. Private: no reply tells what was computed for it."""
    return reader._load()[0].evaluated


async def test_a_reply_comes_with_its_usage(reader):
    reply = await ask(reader, "Who wrote it?", Decoding(temperature=1.0, seed=7, max_tokens=24))
    assert reply.text
    assert reply.usage.calls == 1
    assert reply.usage.prompt_tokens == reader.count_tokens(user("Who wrote it?"))
    assert 1 <= reply.usage.completion_tokens <= 24


@pytest.mark.parametrize("seed", range(2))
async def test_a_reply_under_a_schema_satisfies_it(reader, seed):
    decoding = Decoding(temperature=1.0, seed=seed, max_tokens=400, schema=SCHEMA)
    found = json.loads((await ask(reader, "Who?", decoding)).text)
    assert found.keys() == {"answer", "documents"}
    # The engine counts a broken UTF-8 sequence, which this model writes at random, as one character.
    assert len((found["answer"] or "").replace("\ufffd", "")) <= 12
    assert len(found["documents"]) <= 2
    assert set(found["documents"]) <= {1, 2, 3}


async def test_a_schema_that_cannot_be_followed_is_the_strategy_s_fault(reader):
    with pytest.raises(PluginError, match="JSON schema"):
        await ask(reader, "?", Decoding(schema={"type": "no-such-type"}))


async def test_the_same_seed_gives_the_same_reply_and_another_one_another(reader):
    first, again, other = [
        (await ask(reader, "Who?", Decoding(temperature=1.0, seed=seed, max_tokens=24))).text for seed in (5, 5, 6)
    ]
    assert first == again != other


async def test_replies_do_not_depend_on_what_was_asked_before(open_reader):
    head, tail = "A head that all of them share. " * 3, "Who wrote the book of numbers, letters and names?"
    questions = [head + tail[: 2 * n] for n in range(1, 21)]
    one, other = open_reader(n_batch=64), open_reader(n_batch=64)
    upwards = [await ask(one, question) for question in questions]
    downwards = [await ask(other, question) for question in reversed(questions)]
    assert upwards == downwards[::-1]
    assert evaluated(one) < sum(reply.usage.prompt_tokens for reply in upwards)


async def test_a_shared_prompt_prefix_is_computed_once(reader):
    head = "A passage that both prompts begin with. " * 8
    await ask(reader, head + "First?")
    before = evaluated(reader)
    reply = await ask(reader, head + "Second?")
    assert reply.usage.prompt_tokens > 300
    assert evaluated(reader) - before < 2 * 32


async def test_a_recurrent_model_gives_the_same_reply_as_after_loading(open_reader, tmp_path):
    from standins.tiny_gguf import write_tiny_gguf

    path = write_tiny_gguf(tmp_path / "hybrid.gguf", architecture="qwen35")
    head, greedy = "A passage that both prompts begin with. " * 8, Decoding(max_tokens=24)
    warm, cold = open_reader(path, n_batch=32), open_reader(path, n_batch=32)
    await ask(warm, head + "First?", greedy)
    assert await ask(warm, head + "Second?", greedy) == await ask(cold, head + "Second?", greedy)


async def test_a_prompt_that_overflows_the_window_is_refused_before_it_is_computed(open_reader):
    reader = open_reader(n_ctx=256)
    with pytest.raises(ContextError, match=r"\d+ tokens, but the window of tiny\.gguf has only 256"):
        await ask(reader, "word " * 200)
    assert evaluated(reader) == 0


async def test_calls_from_many_tasks_are_served_one_at_a_time_and_not_mixed_up(open_reader):
    texts = [f"Question number {n}?" for n in range(12)]
    alone, together = open_reader(), open_reader()
    expected = [await ask(alone, text) for text in texts]
    assert await asyncio.gather(*(ask(together, text) for text in texts)) == expected


def endless(reader: LlamaCpp) -> asyncio.Task[Completion]:
    """Return a generation of thousands of tokens."""
    decoding = Decoding(schema={"type": "string", "minLength": 1900}, max_tokens=1900)
    return asyncio.create_task(ask(reader, "?", decoding))


async def under_way(reader: LlamaCpp) -> None:
    _ = reader.window  # loads the model
    while not evaluated(reader):
        await asyncio.sleep(0.001)


async def test_a_cancelled_generation_does_not_block_the_next(reader):
    generation = endless(reader)
    await under_way(reader)
    generation.cancel()
    began = time.perf_counter()
    await ask(reader, "Who?", Decoding(max_tokens=1))
    assert time.perf_counter() - began < 0.5


async def test_closing_stops_a_generation_and_later_calls_say_so(reader):
    generation = endless(reader)
    await under_way(reader)
    await asyncio.to_thread(reader.close)
    with pytest.raises(RqaError, match="was cancelled"):
        await generation
    with pytest.raises(RqaError, match="closed"):
        await ask(reader, "Who?")


# -- models that cannot be used


@pytest.mark.parametrize("start", [b"", b"<!DOCTYPE html>"])
def test_a_file_that_is_not_gguf_is_refused(open_reader, tmp_path, start):
    path = tmp_path / "page.gguf"
    path.write_bytes(start)
    with pytest.raises(ConfigError, match="is not a GGUF model"):
        open_reader(path)


@pytest.mark.parametrize("size", [8, 3_000, 500_000])
def test_a_truncated_model_is_refused_when_it_is_loaded(open_reader, tiny, tmp_path, size):
    path = tmp_path / "cut.gguf"
    path.write_bytes(tiny.read_bytes()[:size])
    with pytest.raises(RqaError, match="cannot load"):
        _ = open_reader(path).window


@pytest.mark.parametrize(
    ("architecture", "said", "step"),
    [
        ("qwen99", "does not know the architecture 'qwen99'", "`pip install -U llama-cpp-python`"),
        ("gemma4", "architecture is 'gemma4'", "`rqa models pull`"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_reported_with_its_architecture(rqa, tmp_path, architecture, said, step):
    from standins.tiny_gguf import write_tiny_gguf

    path = write_tiny_gguf(tmp_path / "new.gguf", architecture=architecture)  # with a llama's tensors
    settings = Path(os.environ["RQA_CONFIG_DIR"], "config.toml")
    settings.parent.mkdir()
    settings.write_text(f'[reader.local]\nplugin = "llamacpp"\nmodel = "{path}"\n')
    ended = rqa("ask", "-s", "norag", "Who?")
    assert ended.code == 1
    assert said in ended.err and step in ended.err


def test_a_split_model_without_all_its_parts_is_refused(open_reader, tiny, tmp_path):
    path = tmp_path / "big-00001-of-00002.gguf"
    path.write_bytes(tiny.read_bytes())
    with pytest.raises(MissingError, match="big-00002-of-00002"):
        open_reader(path)


def test_without_llama_cpp_python_the_extra_is_named(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(MissingError) as missing:
        LlamaCpp(LlamaCpp.Options(model=str(tiny)))
    assert install_hint("llama") in missing.value.hint


def test_the_advice_leads_to_a_working_model(rqa, tiny):
    told = rqa("ask", "-s", "norag", "Who?")
    assert told.code == 4
    pull, options = re.search(r"`rqa models pull (\S+)`, and ask with `(.+?)`", told.err).groups()
    known = json.loads(rqa("models", "list", "--json").out)["known"]
    (entry,) = [each for each in known if each["name"] == pull]
    path = Path(os.environ["RQA_DATA_DIR"], "models", entry["repo"], entry["file"])
    path.parent.mkdir(parents=True)
    path.write_bytes(tiny.read_bytes())  # what the pull would have left there
    wrote = rqa("ask", "-s", "norag", *shlex.split(options), "-O", "reader.llamacpp.max_tokens=2", "Who?")
    assert "was cut at `max_tokens`" in wrote.err  # the tiny model never ends by itself


# -- what the cache goes by


def test_a_copy_of_a_model_has_its_fingerprint_and_another_model_of_its_size_has_not(open_reader, tiny, tmp_path):
    from standins.tiny_gguf import write_tiny_gguf

    copy = tmp_path / "copy.gguf"
    copy.write_bytes(tiny.read_bytes())
    other = write_tiny_gguf(tmp_path / "other.gguf", seed=2)
    assert other.stat().st_size == tiny.stat().st_size
    same, copied, different = (open_reader(path).fingerprint() for path in (tiny, copy, other))
    assert same == copied != different
