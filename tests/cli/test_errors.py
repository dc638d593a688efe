"""The errors that newcomers meet, by what they type. Each says what failed, then what to do."""

import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OPENAI = "-s rag --reader openai -O reader.openai.model=m -O reader.openai.base_url=http://127.0.0.1:9/v1"
SETUP = {
    "broken.jsonl": "{",
    "no-question.jsonl": '{"a": 1}\n',
    "invalid.toml": "[defaults\n",
    "typo.toml": '[defaults]\nstrategie = "rag"\n',
    "no-plugin.toml": '[reader.x]\nmodel = "m"\n',
    "done.jsonl": "{}\n",
    "plugin.py": "",
}
ERRORS = [
    # nothing to answer from, or nothing to ask
    ("ask Who?", 4, "There is nothing to answer from", "Give documents with --docs PATH, or index them"),
    ("ask", 2, "The question is empty", 'Example: rqa ask "'),
    ("ask -d nowhere Who?", 2, "Path 'nowhere' does not exist", "hint: See `rqa ask --help`."),
    ("ask -d empty Who?", 4, "Found no text in 'empty'.", "`rqa help` lists the supported file formats"),
    ("ask --passages nowhere Who?", 2, "Cannot read passages from nowhere", "Give the path of a file"),
    ("ask --passages - Who?", 2, "There are no passages in standard input.", "hint: "),
    ("ask --passages broken.jsonl Who?", 2, "broken.jsonl, line 1 is not a passage", 'an object: {"text": ...'),
    # names and values
    ("akk Who?", 2, "No such command 'akk'", "Did you mean 'ask'?"),
    ("ask --jsn Who?", 2, "No such option '--jsn'", "'--json'"),
    ("ask --plugin mine.py Who?", 2, "No such option '--plugin'", "`rqa --plugin ... ask`"),
    ("ask -d harbour -k many Who?", 2, "'many' is not a valid whole number", "hint: See `rqa ask --help`."),
    (
        "ask -d harbour -s astut Who?",
        2,
        "no strategy named 'astut'.\nhint: Did you mean 'astute'?\n",
        "",
    ),  # and no list
    ("ask -d harbour -s astute Who?", 4, "Strategy 'astute' needs a language model", "`rqa models pull "),
    ("ask -d harbour -r nope Who?", 2, "There is no retriever named 'nope'", "`rqa plugins`"),
    ("ask -d harbour -O nonsense Who?", 2, "'nonsense' is not KEY=VALUE", "Example: strategy."),
    ("ask -d harbour -O reader.embedded.treshold=1 Who?", 2, "no option `treshold`", "Did you mean 'threshold'?"),
    ("ask -d harbour -O reader.embedded.threshold=x Who?", 2, 'not "x"', "must be a number"),
    # models and servers
    ("ask -d harbour --reader openai Who?", 2, "needs the option `model`", "`-O reader.openai.model=...`"),
    (f"ask -d harbour {OPENAI} -O reader.openai.retries=0 Who?", 5, "No connection to 'm'", "Start the server"),
    ("ask -d harbour --reader llamacpp -O reader.llamacpp.model=x Who?", 2, "'x' is neither", "`rqa models list`"),
    ("models pull nope", 2, "'nope' is neither", "`rqa models list`"),
    ("ask -r pg Who?", 2, "[retriever.pg] needs the option `key`", "Add `key = ...` (a key's name)"),
    # configuration and plugins
    ("--config nowhere.toml ask Who?", 2, "Cannot read the configuration nowhere.toml", "`rqa init`"),
    ("--config invalid.toml ask Who?", 2, "not valid TOML: Expected ']' at the end of a table", "hint: Text needs"),
    ("--config typo.toml ask Who?", 2, "[defaults] has no option `strategie`", "Did you mean 'strategy'?"),
    ("--config no-plugin.toml ask -d harbour Who?", 2, "does not say which plugin", 'Add `plugin = "..."`'),
    ("--plugin nowhere.py ask Who?", 2, "there is no file 'nowhere.py'", "rqa plugins new NAME"),
    ("--plugin plugin.py plugins", 0, "plugin.py): it implements no hook", "put @hookimpl above"),
    ("plugins check embeded", 2, "There is no component 'embeded'", "Did you mean 'embedded'?"),
    # index and search
    ("index empty", 0, "rqa: there are no files to index in empty\n", "hybrid: "),
    ("index nowhere", 2, "There is no file or folder", "Check the path. Nothing was indexed"),
    ("index", 4, "There is no index at", "Create one with `rqa index PATH...`"),
    ("search keeper", 4, "There are no documents to search in", "Give documents with --docs PATH"),
    ("search -d harbour keeper --open 99", 2, "There is no passage 99", "Find more with -k N"),
    # check and lint
    ("check Who.", 4, "There are no documents to check against", "Give documents with --docs PATH"),
    ("check -d harbour -f nowhere.md", 2, "Cannot read nowhere.md", "Give the path of a file"),
    ("lint", 4, "There are no documents to check", "or index them once with `rqa index PATH`"),
    ("lint nowhere", 2, "There is no file or folder nowhere", "Check the path"),
    # many questions
    ("batch nowhere.jsonl -d harbour", 2, "Cannot read nowhere.jsonl", "Check the path"),
    ("batch broken.jsonl -d harbour", 2, "broken.jsonl is JSON over several lines", "Write one object per line: jq"),
    ("batch no-question.jsonl -d harbour", 3, "The row has no `question`", "its fields are a"),
    ("batch questions.jsonl -d harbour -o no/a.jsonl", 2, "/no/a.jsonl: No such file", "Choose another file with -o"),
    ("batch questions.jsonl -d harbour -o done.jsonl", 2, "done.jsonl already exists", "Use `--force` to start"),
    ("eval nowhere.jsonl -d harbour", 2, "Cannot read nowhere.jsonl", "Check the path"),
    ("eval no-question.jsonl -d harbour", 2, "Cannot detect the layout", "Set the layout with --format"),
    ("eval questions.jsonl -d harbour --gate no", 2, "There is no run no", "Name a folder that `rqa eval` wrote"),
    ("report harbour", 2, "harbour has no run.json: it is not a run", "Name a folder that `rqa eval` wrote"),
    ("report nowhere", 2, "There is no folder nowhere", "Name a folder that `rqa eval` wrote"),
    # servers and keys
    ("serve -d harbour --host 0.0.0.0", 2, "0.0.0.0 can be reached from other machines", "`rqa keys set serve`"),
    ("chat -d harbour", 2, "`rqa chat` needs a terminal", 'rqa ask "QUESTION"'),
    ("history show 99", 2, "The history has no answer 99", "`rqa history`"),
    ("help xyzzy", 2, "There is no manual page on 'xyzzy'", "The topics are ask, "),
]


@pytest.fixture(autouse=True)
def folder() -> None:
    """A working folder with the harbour's documents, and files that are wrong."""
    shutil.copytree(ROOT / "examples" / "harbour", "harbour")
    shutil.copy(ROOT / "examples" / "questions.jsonl", ".")
    Path("empty").mkdir()
    for name, text in SETUP.items():
        Path(name).write_text(text)


@pytest.mark.parametrize(("typed", "code", "failed", "advice"), ERRORS, ids=[typed for typed, *_ in ERRORS])
def test_an_error_says_what_failed_and_what_to_do(rqa: Any, typed: str, code: int, failed: str, advice: str) -> None:
    if "llamacpp" in typed:
        pytest.importorskip("llama_cpp", reason="needs the extra [llama]")
    ended = rqa(*typed.split())
    assert ended.code == code, ended.err
    assert failed in ended.err and advice in ended.err and "Traceback" not in ended.err, ended.err
