"""Continuations, with the real llama.cpp with a tiny model of random weights."""

from __future__ import annotations

import pytest

from robust_qa import ContextError, Decoding, Message

pytest.importorskip("llama_cpp", reason="needs the extra [llama]")


from rqa_llamacpp.reader import LlamaCpp

MARKS = ("[Relevant]", "[Irrelevant]", "[Utility:5]")
ALL = 10_000  # more tokens than there are


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """Return a model that writes MARKS, which are control tokens, among random tokens."""
    pytest.importorskip("gguf", reason="builds its model with gguf, of the extra [dev]")
    from standins.tiny_gguf import write_tiny_gguf

    model = write_tiny_gguf(tmp_path_factory.mktemp("models") / "marks.gguf", specials=MARKS)
    reader = LlamaCpp(LlamaCpp.Options(model=str(model), n_threads=1, n_batch=32))
    yield reader
    reader.close()


async def test_greedy_decoding_chooses_the_likeliest_token(reader):
    for token in (await reader.continue_text("Who wrote it?", Decoding(max_tokens=8), 3)).tokens:
        assert token.logprob == token.top[token.text] == max(token.top.values())


async def test_a_sampled_token_has_the_probability_that_the_model_gives_it(reader):
    sampled = Decoding(temperature=2.0, seed=3, max_tokens=12)
    found = await reader.continue_text("Who wrote it?", sampled, ALL)
    assert any(token.logprob < max(token.top.values()) for token in found.tokens)
    marks = [token for token in found.tokens if token.text in MARKS]
    assert marks
    assert [token.logprob for token in marks] == [token.top[token.text] for token in marks]


async def test_special_tokens_are_kept_in_the_text_and_left_out_of_a_reply(reader):
    decoding = Decoding(max_tokens=40)
    found = await reader.continue_text("Who wrote it?", decoding, 1)
    written = [token.text for token in found.tokens if token.text in MARKS]
    assert written
    assert sum(found.text.count(mark) for mark in MARKS) == len(written)
    reply = await reader.generate([Message("user", "Who wrote it?")], decoding)
    assert not [mark for mark in MARKS if mark in reply.text]


async def test_special_tokens_are_parsed_and_no_template_is_used(reader):
    plain = await reader.continue_text("ab", Decoding(max_tokens=1), 0)
    marked = await reader.continue_text("ab[Utility:5]", Decoding(max_tokens=1), 0)
    assert marked.usage.prompt_tokens == plain.usage.prompt_tokens + 1
    assert plain.usage.prompt_tokens == 1 + 1 + 2  # the first token, a space that the model puts first, a and b


async def test_a_stop_text_cuts_the_text_but_not_the_tokens(reader):
    whole = await reader.continue_text("Who wrote it?", Decoding(max_tokens=8), 0)
    stop = next(token.text for token in whole.tokens[1:] if token.text in MARKS)
    found = await reader.continue_text("Who wrote it?", Decoding(max_tokens=8, stop=(stop,)), 0)
    assert (found.text, found.finish) == (whole.text.partition(stop)[0], "stop")
    assert found.tokens == whole.tokens[: len(found.tokens)]
    assert found.tokens[-1].text == stop


async def test_a_text_that_leaves_no_room_is_a_context_error(reader):
    with pytest.raises(ContextError, match="window"):
        await reader.continue_text("a" * 5000, Decoding(max_tokens=8), 0)
