"""Retriever expressions on the command line, in the configuration, and in options of strategies."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

from robust_qa import RqaError
from robust_qa.answering import indexing
from robust_qa.answering.components import Components

PLUGIN = """
from dataclasses import dataclass, field
from robust_qa import Answer, Expression, Passage, hookimpl
from robust_qa.kit import words

class Overlap:
    "Counts shared words."
    def score(self, question, texts):
        wanted = set(words(question))
        return [len(wanted & set(words(text))) / len(wanted) for text in texts]

class Shout:
    "Corrects passages by shouting them."
    needs = frozenset({"retrieve"})
    async def correct(self, question, toolbox):
        return [Passage(p.text.upper(), id=p.id) for p in await toolbox.retrieve()]
    async def answer(self, question, toolbox):
        return Answer(None, reason="It only corrects.")

class Several:
    "Tells what each of its expressions finds."
    needs = frozenset()
    @dataclass
    class Options:
        pool: list[Expression] = field(default_factory=lambda: ["nowhere@3", "none"])
        search: Expression | None = None
    def __init__(self, options):
        self.options = options
    async def answer(self, question, toolbox):
        pool = toolbox.pool(self.options.pool)
        found = {name: [p.text for p in await pool.retrieve(name)] for name in pool.expressions}
        return Answer("told", details={"found": found, "left_out": list(pool.left_out)})

@hookimpl
def rqa_register(registry):
    registry.evaluator("overlap", Overlap)
    registry.strategy("shout", Shout)
    registry.strategy("several", Several)
"""
WEB = ("The lighthouse of Skerry was painted in 1999.", "Tourists like the lighthouse of Skerry.")
WIKI = ("Skerry is an island.", "The lighthouse of Skerry was built in 1871 by Ada Quill.", "A lighthouse has a lamp.")
CONFIG = """
plugins = ["plugin.py"]
[retriever.web]
plugin = "bm25"
index = "indexes/web"
[retriever.wiki]
plugin = "bm25"
index = "indexes/wiki"
"""
QUESTION = "When was the lighthouse of Skerry built?"

Rqa = Callable[..., Any]
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def own() -> Callable[[str], None]:
    """Appends to the user's own configuration."""
    config = Path("own.toml")
    config.write_text(CONFIG)
    Path("plugin.py").write_text(PLUGIN)

    def add(text: str) -> None:
        config.write_text(f"{CONFIG}\n{text}\n")

    return add


@pytest.fixture
def run(own: Callable[[str], None], rqa: Rqa) -> Rqa:
    """Runs the command line with that configuration, over two real indexes."""
    for name, texts in (("web", WEB), ("wiki", WIKI)):
        for number, text in enumerate(texts):
            Path(f"docs/{name}").mkdir(parents=True, exist_ok=True)
            Path(f"docs/{name}/{number}.txt").write_text(text)
        rqa("--config", "own.toml", "index", "-r", name, f"docs/{name}")
    return lambda *args, **more: rqa("--config", "own.toml", *args, **more)


@pytest.fixture
def ask(run: Rqa) -> Ask:
    def answer(*args: object) -> dict[str, Any]:
        ended = run("ask", "--json", *args, QUESTION)
        assert ended.code == 0, ended.err
        decoded: dict[str, Any] = json.loads(ended.out)
        return decoded

    return answer


def retrieved(answer: dict[str, Any]) -> dict[str, list[str]]:
    """The retrieved texts, by component."""
    steps = [step for step in answer["trace"] if step["kind"] == "retrieve"]
    return {step["component"]: [passage["text"] for passage in step["data"]["passages"]] for step in steps}


def passages(*texts: str) -> Path:
    Path("passages.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return Path("passages.jsonl")


# -- with real indexes and the reader that only points


def test_two_indexes_are_read_together(ask: Ask) -> None:
    answer = ask("-s", "rag", "-r", "web@1 & wiki@2", "-O", "reader.embedded.threshold=0.3")
    assert answer["answer"] == "1871"
    assert [Path(citation["source"]).parent.name for citation in answer["citations"]] == ["wiki"]
    assert {name: len(texts) for name, texts in retrieved(answer).items()} == {"retriever.web": 1, "retriever.wiki": 2}


def test_the_configuration_may_name_an_expression_and_use_it(ask: Ask, own: Callable[[str], None]) -> None:
    own('[defaults]\nretriever = "both"\n[defaults.expressions]\nboth = "web & wiki@1"')
    assert {name: len(texts) for name, texts in retrieved(ask()).items()} == {"retriever.web": 2, "retriever.wiki": 1}


def test_reranking_asks_the_evaluator(ask: Ask) -> None:
    answer = ask("-s", "rag", "-r", "(web & wiki)@rr@1", "-O", "defaults.evaluator=overlap")
    assert answer["answer"] == "1871" and len(answer["citations"]) == 1
    assert [step["component"] for step in answer["trace"] if step["kind"] == "score"] == ["evaluator.overlap"]


def test_a_correcting_strategy_can_replace_a_retriever(ask: Ask) -> None:
    answer = ask("-s", "several", "-O", 'strategy.several.pool=["shout(wiki@1)"]')
    assert answer["details"]["found"] == {"shout(wiki@1)": [WIKI[1].upper()]}


# -- with a language model


def writing(request: dict[str, Any], _: int) -> str:
    asked = str(request["messages"])
    if "Summary of the documents" in asked:
        return "Ada Quill built it in 1871."
    if "Background passage" in asked:
        return "It was built in 1817, I believe."
    return "Documents: 1\nAnswer: 1871" if "1871" in asked else "Documents: 1\nAnswer: 1817"


@pytest.fixture
def ask_model(run: Rqa) -> Any:
    """Asks with `rag` over a scripted endpoint; the answer, and the prompts."""

    def answer(*args: object) -> tuple[dict[str, Any], list[str]]:
        with serve(writing) as server:
            reader = ["--reader", "openai", "-O", "reader.openai.model=m", "-O", f"reader.openai.base_url={server.url}"]
            ended = run("ask", "--json", "-s", "rag", *reader, *args, QUESTION)
            assert ended.code == 0, ended.err
            return json.loads(ended.out), [str(request.body["messages"]) for request in server.requests]

    return answer


def test_a_compressed_passage_is_read_and_its_origin_is_cited(ask_model: Any) -> None:
    answer, (compressing, reading) = ask_model("-r", "web@1 & wiki@1 @cp")
    assert WEB[0] in compressing and WIKI[1] in compressing
    assert "Ada Quill built it in 1871." in reading and WIKI[1] not in reading
    (citation,) = answer["citations"]
    assert citation["quote"] == WIKI[1] and citation["source"].endswith("docs/wiki/1.txt")
    assert answer["usage"]["calls"] == 2


def test_a_background_passage_is_read_and_cited_as_memory(ask_model: Any) -> None:
    answer, (_, reading) = ask_model("-r", "pk")
    assert "It was built in 1817" in reading and answer["answer"] == "1817"
    assert [citation["origin"] for citation in answer["citations"]] == ["memory"]


def test_the_prompts_can_be_replaced(ask_model: Any) -> None:
    Path("mine.txt").write_text("Summary of the documents, my way: {passages} {question}")
    _, (compressing, _) = ask_model("-r", "wiki@1 @cp", "-O", "defaults.prompts.compress=mine.txt")
    assert "my way: <document" in compressing


# -- passages that a question brings


def test_the_command_line_may_only_select_given_passages(ask: Ask, run: Rqa) -> None:
    given = passages("a", "b", "c")
    assert retrieved(ask("--passages", given, "-r", "given-odd")) == {"given-odd": ["a", "c"]}
    ended = run("ask", "--passages", given, "-r", "wiki", QUESTION)
    assert ended.code == 2 and "that does not name `given`" in ended.err


def test_rows_of_a_batch_are_cut_each_by_its_own_passages(run: Rqa) -> None:
    rows = [{"question": QUESTION, "passages": [f"{year} {n}" for n in range(4)]} for year in (1850, 1860)]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"question": QUESTION}]))
    ended = run(
        "batch",
        "rows.jsonl",
        "-o",
        "out.jsonl",
        "--details",
        "-s",
        "several",
        "-O",
        'strategy.several.pool=["given-even@1"]',
    )
    assert ended.code == 0, ended.err
    details = [json.loads(line)["details"] for line in Path("out.jsonl").read_text().splitlines()]
    assert [told["found"] for told in details] == [{"given-even@1": ["1850 1"]}, {"given-even@1": ["1860 1"]}, {}]
    assert details[2]["left_out"] == ["given-even@1"]


# -- what is wrong is said before anything is asked


@pytest.mark.parametrize(
    "expression, told",
    [
        ("web @cp", "is written by a language model, and reader.embedded does not write text"),
        ("web & pk", "`pk` is written by a language model"),
        ("web & wikki", "There is no retriever named 'wikki'"),
        ("rag(web)", "Strategy 'rag' does not correct passages, so `rag(...)` is not a retriever"),
        ("shoot(web)", "There is no strategy named 'shoot'"),
    ],
)
def test_an_error_says_what_an_expression_lacks(run: Rqa, expression: str, told: str) -> None:
    ended = run("ask", "-s", "rag", "-r", expression, QUESTION)
    assert (ended.code, ended.out) == (2, "") and told in " ".join(ended.err.split())


def test_a_mistake_on_the_command_line_is_shown_with_its_place(run: Rqa) -> None:
    ended = run("ask", "-r", "web@4 & wiki@x", QUESTION)
    lines = ended.err.splitlines()
    mark = next(number for number, line in enumerate(lines) if line.strip() == "^")
    assert ended.code == 2 and lines[mark].index("^") == lines[mark - 1].index("x")


@pytest.mark.parametrize(
    "text, told",
    [
        ('[defaults]\nretriever = "web@"', "own.toml: `defaults.retriever`: Expected a number of passages"),
        ('[defaults]\nretriever = "wikki@5"', "own.toml: `defaults.retriever`: `wikki@5`: There is no retriever"),
        ('[defaults.expressions]\nhb = "web & bing"', "`defaults.expressions`: `web & bing`: There is no retriever"),
        ('[defaults.expressions]\na = "b"\nb = "a"', "form a cycle"),
        ('[defaults.expressions]\npk = "web"', "[defaults] cannot name an expression 'pk'"),
        ('[defaults.expressions]\n"x y" = "web"', "[defaults] cannot name an expression 'x y'"),
        ('[defaults.prompts]\nread = "x.txt"', "There is no prompt named 'read' to replace"),
        ('[retriever.none]\nplugin = "bm25"', "'none' is a built-in name of retriever expressions"),
        (
            '[strategy.several]\nsearch = "web@rr@"',
            "own.toml: `strategy.several.search`: Expected a number",
        ),
        ('[strategy.several]\nsearch = "bing"', "own.toml: `strategy.several.search`: `bing`: There is no retriever"),
        ('[strategy.several]\npool = ["web", "web wiki"]', "own.toml: `strategy.several.pool`: Expected @ or &"),
        ('[strategy.several]\npool = ["web", "rag(web)"]', "own.toml: `strategy.several.pool`: `rag(web)`: Strategy"),
        ("[strategy.several]\npool = [5]", "own.toml: `strategy.several.pool` must be a list"),
    ],
)
def test_config_check_finds_it(run: Rqa, own: Callable[[str], None], text: str, told: str) -> None:
    own(text)
    ended = run("config", "check")
    assert ended.code == 2 and told in ended.err


def test_config_check_accepts_valid_expressions(run: Rqa, own: Callable[[str], None]) -> None:
    own(
        '[defaults]\nretriever = "hb@rr@10 @cp"\n[defaults.expressions]\nhb = "web & wiki@20 & pk"\n'
        '[strategy.several]\nsearch = "shout(hb)"\npool = ["given-odd", "none", "hb@5"]'
    )
    assert run("config", "check").code == 0


def test_a_default_of_a_strategy_may_be_missing(ask: Ask) -> None:
    answer = ask("-s", "several")
    assert answer["details"] == {"found": {"none": []}, "left_out": ["nowhere@3"]}


# -- other commands, and files of strangers


def test_the_index_that_an_expression_names_is_the_one_that_is_filled(run: Rqa) -> None:
    Path("more.txt").write_text("The lamp of Skerry burns oil.")
    assert run("index", "-r", "(wiki@5 & none) @cp", "more.txt").code == 0
    assert "oil" in run("ask", "-r", "wiki", "What does the lamp of Skerry burn?").out


def test_the_retriever_with_an_index_is_the_default(run: Rqa, own: Callable[[str], None]) -> None:
    own('[retriever.static]\nplugin = "web"\nprovider = "static"\nfile = "found.jsonl"')
    Path("more.txt").write_text("The lamp of Skerry burns oil.")
    assert run("index", "more.txt").err.startswith("rqa: web: ")
    assert [*retrieved(json.loads(run("ask", "--json", "What does the lamp of Skerry burn?").out))] == ["retriever.web"]


def test_a_run_is_not_resumed_over_a_changed_index(run: Rqa) -> None:
    Path("rows.jsonl").write_text(json.dumps({"question": QUESTION}) + "\n")
    arguments = ("batch", "rows.jsonl", "-o", "out.jsonl", "-s", "rag", "-r", "web@1 & wiki@1")
    assert run(*arguments).code == 0
    Path("docs/wiki/more.txt").write_text("The lamp of Skerry burns oil.")
    run("index", "-r", "wiki", "docs/wiki")
    ended = run(*arguments, "--resume")
    assert ended.code == 2 and "`retriever wiki content` was" in ended.err and "`retriever web" not in ended.err


def test_an_expression_with_two_indexes_is_refused_by_index(run: Rqa) -> None:
    ended = run("index", "-r", "web & wiki", "docs")
    assert ended.code == 2 and "web, wiki" in ended.err


def test_documents_of_the_command_line_are_what_an_expression_then_finds(run: Rqa) -> None:
    Path("more.txt").write_text("The lighthouse of Skerry was built in 1900.")
    ended = run("ask", "--json", "--docs", "more.txt", "-r", "none & bm25@1", QUESTION)
    assert retrieved(json.loads(ended.out)) == {"retriever.bm25": ["The lighthouse of Skerry was built in 1900."]}


def test_an_unfinished_index_of_documents_is_cleaned_up_later(rqa: Rqa, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(components: Components, name: str, *_: object) -> None:
        folder = components.component("retriever", name).options.index
        known.append(folder.with_name(f"{folder.name}.used").is_file())
        raise RqaError("stopped")

    known: list[bool] = []
    monkeypatch.setattr(indexing, "index", stopped)
    Path("more.txt").write_text("The lighthouse of Skerry was built in 1900.")
    assert rqa("ask", "--docs", "more.txt", QUESTION).code == 1
    assert known == [True]


def test_documents_are_indexed_anew_for_other_options_of_the_retriever(rqa: Rqa) -> None:
    Path("more.txt").write_text("The lighthouse of Skerry was built in 1900.")
    for language in ("en", "de", "en"):
        ended = rqa("ask", "--docs", "more.txt", "-O", f"retriever.bm25.language={language}", QUESTION)
        assert ended.code == 0 and "1900" in ended.out, ended.err


def test_an_untrusted_expression_cannot_read_outside_its_folder(rqa: Rqa, run: Rqa) -> None:
    Path("own.toml").unlink()
    folder = Path("repository")
    folder.mkdir()
    strangers = folder / "rqa.toml"
    strangers.write_text(
        '[defaults]\nretriever = "sent & none"\nexpressions = {sent = "leak@5"}\n'
        '[retriever.leak]\nplugin = "bm25"\nindex = "../indexes/wiki"\n'
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ended = rqa("ask", QUESTION)
        assert ended.code == 2 and "outside its folder" in " ".join(ended.err.split())
        Path("rqa.toml").write_text('[defaults]\nprompts = {compress = "../plugin.py"}\n')
        ended = rqa("ask", QUESTION)
        assert ended.code == 2 and "outside its folder" in " ".join(ended.err.split())
