"""The recipes of the papers: they are valid, the page names them, and each runs with one command."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli
from documentation import PAGES, blocks, only_built_in  # noqa: F401
from standins.openai import continuation, serve
from standins.tiny_t5 import write_model

from robust_qa import Exit
from rqa_eor.answers import PAPER
from rqa_lab.recipes import FOLDER, load

FILES = sorted(file for file in FOLDER.glob("*.toml") if file.stem != "commands")
RECIPES = load("commands")
ROW = {
    "question": "Who wrote Emma?",
    "answers": ["Jane Austen"],
    "passages": ["Jane Austen wrote Emma in 1815.", "Mary Shelley wrote Frankenstein."],
    "negative_passages": ["Mary Shelley wrote Frankenstein."],
    "choices": {"A": "Jane Austen", "B": "Mary Shelley"},
    "choice": "A",
}
SETTINGS = """
[defaults]
reader = "model"
evaluator = "lexical"
[retriever.web]
provider = "static"
file = "pages.jsonl"
[retriever.wiki]
plugin = "web"
provider = "static"
file = "pages.jsonl"
[cache]
enabled = false
"""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_configuration_of_a_paper_has_no_problems(
    rqa: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    monkeypatch.setenv("RQA_KEY_SERPER", "none")
    ended = rqa("--config", file, "config", "check")
    assert (ended.code, ended.err) == (0, ""), ended.err


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_strategy_of_a_paper_is_in_one_of_its_recipes(file: Path) -> None:
    named = {name for one in RECIPES.values() if one["of"] == file.stem for name in one["strategy"].split(",")}
    assert set(tomli.loads(file.read_text("utf-8"))["strategy"]) == named


def test_the_page_lists_every_recipe() -> None:
    assert set(re.findall(r"^\| `([\w-]+)` \|", PAGES["rqa-papers(7)"], re.MULTILINE)) == set(RECIPES)


def test_the_pool_of_the_recipe_is_the_default_one() -> None:
    assert sorted(load("eor")["strategy"]["eor"]["pool"]) == sorted(PAPER)


@pytest.fixture
def world() -> Path:
    """The rows, the pages to search, and where the configuration goes."""
    Path("rows.jsonl").write_text(json.dumps(ROW))
    pages = [{"title": "Emma", "url": f"https://{n}.example/", "text": text} for n, text in enumerate(ROW["passages"])]
    Path("pages.jsonl").write_text("\n".join(map(json.dumps, pages)))
    return Path("rqa.toml")


@pytest.fixture
def recipe(rqa: Callable[..., Any], world: Path) -> Callable[..., tuple[Any, Any]]:
    """Runs a recipe at a scripted endpoint: its results, and the answers of all strategies."""

    def replied(body: dict[str, Any], _: Any) -> Any:
        if "prompt" in body:  # of self_rag
            return continuation(("[Relevant]Jane Austen[Utility:5]", -0.1))
        return "Documents: 1\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"

    def run(name: str, *options: object, own: str = "temperature = 0.7\nstructured = 'none'\n") -> tuple[Any, Any]:
        # BERTScore needs vectors, and the paper's thresholds an evaluator that has none of its own.
        evaluator = {"eor": "embedded", "crag": "t5"}.get(name.partition("-")[0], "lexical")
        with serve(replied) as server:
            table = f'[reader.model]\nplugin = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n{own}'
            judge = f'[evaluator.t5]\nmodel = "{write_model(Path("tiny-t5"))}"\n' if evaluator == "t5" else ""
            world.write_text(SETTINGS.replace("lexical", evaluator) + table + judge)
            ended = rqa("--config", world, "eval", "--recipe", name, "rows.jsonl", "-o", "run", *options)
            run.calls = [request.body for request in server.requests]  # type: ignore[attr-defined]
        assert ended.code == 0, ended.err
        files = Path("run/answers").glob("*.jsonl")
        answers = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return json.loads(Path("run/metrics.json").read_text()), answers

    return run


def names(of: Any) -> list[str]:
    return [one["name"] for one in of]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs_with_one_command(recipe: Any, name: str) -> None:
    # TrustRAG needs an embedder, whose model is not in the package.
    strategies = [each for each in RECIPES[name]["strategy"].split(",") if not each.startswith("trustrag")]
    how = ("-s", ",".join(strategies)) if name.startswith("trustrag") else ()
    told, answers = recipe(name, *how, *(("--repeat", 2) if "repeat" in RECIPES[name] else ()))
    assert names(told["strategies"])[: len(strategies)] == strategies
    assert {*RECIPES[name]["metrics"].split(",")} <= {*names(told["metrics"])}
    assert [one["error"] for one in answers if one["error"]] == []
    run = json.loads(Path("run/run.json").read_text())
    assert run["recipe"] == name and run["record"]["served"]["reader.model"] == ["stand-in"]
    own = {"astute", "activerag", "crag", "eor", "astute-m2"} & run["record"]["strategies"].keys()
    assert {run["record"]["strategies"][one]["prompts"]["set"] for one in own} <= {"paper"}


def test_options_of_the_command_win_over_the_recipe(recipe: Any) -> None:
    told, _ = recipe("astute-table1", "-s", "rag", "--metrics", "em")
    assert (names(told["strategies"]), names(told["metrics"])[0]) == (["rag"], "em")


TEMPERATURES = {"astute-table1": {0.0, 0.7}, "activerag-table2": {0.2}, "eor-top": {0.0}}  # usc samples at 0.7


@pytest.mark.parametrize("name", TEMPERATURES)
def test_a_recipe_asks_in_plain_text_at_the_temperature_of_its_paper(recipe: Any, name: str) -> None:
    recipe(name, own="")
    assert {body["temperature"] for body in recipe.calls} == TEMPERATURES[name]
    assert not any("response_format" in body for body in recipe.calls)


def test_a_recipe_runs_in_a_folder_with_its_configuration(rqa: Callable[..., Any], world: Path) -> None:
    """Such a file is untrusted. Its model gets no text of the user's own, and a recipe has none."""
    with serve(lambda body, _: "Documents: 1\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>") as server:
        model = f'[reader.model]\nplugin = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
        world.write_text(SETTINGS + model)
        ended = rqa("eval", "--recipe", "activerag-table4", "rows.jsonl", "-o", "run")
        assert ended.code == 0, ended.err
        assert {request.body["temperature"] for request in server.requests} == {0.2}


def test_the_self_consistency_of_activerag_samples_every_method_at_its_temperature(recipe: Any) -> None:
    recipe("activerag-consistency", "--repeat", 2, own="")
    assert {body["temperature"] for body in recipe.calls} == {0.7}
    assert len({body["seed"] for body in recipe.calls}) == 2  # one for each repetition


def prompts(calls: Any) -> list[str]:
    return ["\n".join(message["content"] for message in body["messages"]) for body in calls]


def test_figure_5_of_astute_compares_long_answers_only(recipe: Any) -> None:
    """Also with the paper's prompts, of which only the last one asks for more than a few words."""
    recipe("astute-figure5", own="")
    answering = [prompt for prompt in prompts(recipe.calls) if "Make nothing up" not in prompt]
    assert len(answering) == 3 and all("one paragraph of several sentences" in prompt for prompt in answering)
    assert any("Step 3: Choose the final answer" in prompt for prompt in answering)


# The methods of the papers, with prompts of their own.
OWN = ("astute", "crag", "activerag", "eor", "madam", "trustrag", "consensus", "sufficient")


@pytest.mark.parametrize("name", [name for name, one in RECIPES.items() if one["of"] != "eor"])
def test_no_baseline_is_told_that_passages_may_be_wrong(recipe: Any, name: str) -> None:
    baselines = [each for each in RECIPES[name]["strategy"].split(",") if not each.startswith((*OWN, "self"))]
    if baselines:
        recipe(name, "-s", ",".join(baselines), *(("--repeat", 2) if "repeat" in RECIPES[name] else ()), own="")
        asked = [body["messages"] for body in recipe.calls if "messages" in body]
        warned = re.compile(r"irrelevant|misleading|may be wrong|trusted|similar name")
        assert asked and not [one for one in asked if warned.search(json.dumps(one))]


LIMITS = {"astute-table1": 1024, "crag-popqa": 100, "crag-bio": 300, "activerag-table4": 1024, "eor-top": 256}


@pytest.mark.parametrize("name", LIMITS)
def test_a_recipe_asks_for_as_many_tokens_as_its_paper(recipe: Any, name: str) -> None:
    recipe(name, own="")
    assert {body["max_tokens"] for body in recipe.calls if "messages" in body} == {LIMITS[name]}


CAT = {"question": "Which one purrs?", "answerKey": "1", "choices": {"label": ["1", "2"], "text": ["cat", "dog"]}}
TEA = {"question": "Tea cures colds.", "answers": ["false"]}


@pytest.mark.parametrize(
    ("name", "row", "instruction"),
    [
        ("crag-arc", CAT, "Given four answer candidates"),
        ("crag-pubqa", TEA, "Is the following statement correct or not?"),
    ],
)
def test_a_choice_is_asked_with_the_instruction_of_self_rag_once(
    recipe: Any, name: str, row: Any, instruction: str
) -> None:
    Path("rows.jsonl").write_text(json.dumps({**row, "ctxs": [{"title": "Emma", "text": ROW["passages"][0]}]}))
    recipe(name, own="")
    answering = [body.get("prompt") or prompts([body])[0] for body in recipe.calls if "keyword" not in json.dumps(body)]
    assert answering and all(prompt.count(instruction) == 1 for prompt in answering)
    for prompt in answering:
        assert "Choose the best of these" not in prompt and "Decide whether" not in prompt
        assert name != "crag-arc" or "A: cat\nB: dog" in prompt


def test_prompts_that_ask_for_no_form_are_not_warned_of(rqa: Callable[..., Any], world: Path) -> None:
    with serve(lambda body, _: "Jane Austen") as server:
        world.write_text(f'{SETTINGS}[reader.model]\nplugin = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n')
        ended = rqa("--config", world, "eval", "--recipe", "eor-top", "rows.jsonl", "-o", "run")
    assert ended.code == 0 and "did not have the form" not in ended.err


def test_the_first_version_of_astute_shows_the_passages_in_reverse(recipe: Any) -> None:
    recipe("astute-v1", "-s", "rag", own="")
    (prompt,) = prompts(recipe.calls)
    assert prompt.index("Mary Shelley") < prompt.index("Jane Austen wrote Emma")


def test_the_baseline_of_eor_is_told_that_the_passages_are_true(recipe: Any) -> None:
    for name in ("eor-top", "eor-table1"):
        recipe(name, "--force", own="")
        reading = [prompt for prompt in prompts(recipe.calls) if "direct answer" in prompt]
        assert reading and all("to be true" in prompt for prompt in reading if "<document" in prompt)
        assert any("<document" in prompt for prompt in reading)


def test_a_recipe_runs_with_a_tiny_model(rqa: Callable[..., Any], world: Path) -> None:
    """The model always says one text, so the rows of strategies that ask for another form fail."""
    pytest.importorskip("llama_cpp")
    from standins.tiny_gguf import write_tiny_gguf

    write_tiny_gguf(Path("tiny.gguf"), says='{"documents": [1], "answer": "Jane Austen"}', window=8192)
    world.write_text(SETTINGS + '[reader.model]\nplugin = "llamacpp"\nmodel = "tiny.gguf"\nmax_tokens = 48\n')
    ended = rqa("--config", world, "eval", "--recipe", "astute-table1", "rows.jsonl", "-o", "run", "-j", "1")
    assert ended.code in (0, Exit.ROWS_FAILED), ended.err
    written = {file.stem for file in Path("run/answers").glob("*.jsonl")}
    assert written == {*RECIPES["astute-table1"]["strategy"].split(",")}
    assert json.loads(Path("run/answers/rag.jsonl").read_text())["answer"] == "Jane Austen"


def test_the_configuration_wins_over_the_recipe_and_the_difference_is_told(
    rqa: Callable[..., Any], world: Path
) -> None:
    """A voter of `rqa train eor` has another pool than the recipe, and weights for it."""
    voter = '[strategy.eor]\npool = ["given", "none"]\nweights = [0.5, 0.2]\n'
    with serve(lambda body, _: "Documents: 1\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>") as server:
        model = f'[reader.model]\nplugin = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
        world.write_text(SETTINGS.replace("lexical", "embedded") + model + voter)
        ended = rqa("--config", world, "eval", "--recipe", "eor-table1", "-s", "eor", "rows.jsonl", "-o", "run")
    assert ended.code == 0, ended.err
    assert re.search(r'strategy\.eor\.pool is \["given", "none"\] by \S+, and \["wiki@10", .* in the recipe', ended.err)
    answer = json.loads(Path("run/answers/eor.jsonl").read_text().splitlines()[0])
    assert [each["weight"] for each in answer["details"]["retrievers"]] == [0.5, 0.2]
