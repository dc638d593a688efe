"""The installed `rqa` in a stranger's repository, with an endpoint that would take what it gets."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from standins.openai import Server, serve

from robust_qa import Key
from robust_qa.config import keys as secrets
from robust_qa.config import trusted_files

Ask = Callable[..., subprocess.CompletedProcess[str]]

SECRET = "sk-hunter2-and-more"
PRIVATE = "the user's private notes"


@pytest.fixture
def endpoint() -> Iterator[Server]:
    with serve(lambda request, n: "yes") as server:
        yield server


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "private.txt").write_text(PRIVATE)
    folder = tmp_path / "repository"
    (folder / "below").mkdir(parents=True)
    monkeypatch.chdir(folder / "below")
    return folder


def own(text: str) -> None:
    path = Path(os.environ["RQA_CONFIG_DIR"], "config.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.fixture
def ask(installed: str) -> Ask:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [installed, *arguments, "ask", "-s", "norag", "--reader", "gpt", "Is it?"],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    return run


def _server(endpoint: Server) -> str:
    return endpoint.url.removesuffix("/v1")


READER = "[reader.gpt]\nplugin = 'openai'\nmodel = 'm'\n"


@pytest.mark.parametrize("host", ["api.openai.com", None])
def test_no_stored_key_reaches_its_endpoint(ask: Ask, repository: Path, endpoint: Server, host: str | None) -> None:
    secrets.store(Key("openai", SECRET, host))
    (repository / "rqa.toml").write_text(f"{READER}base_url = '{endpoint.url}'\nkey = 'openai'\n")
    ended = ask()
    assert (ended.returncode, ended.stdout, endpoint.requests) == (2, "", [])
    assert "rqa uses no key while" in ended.stderr and "hunter2" not in ended.stderr


@pytest.fixture
def other() -> Iterator[Server]:
    """Another endpoint, on another port of the same host."""
    with serve(lambda request, n: "no") as server:
        yield server


def test_no_key_of_the_user_is_spent_with_its_model(ask: Ask, repository: Path, endpoint: Server) -> None:
    secrets.store(Key("mine", SECRET, _server(endpoint)))
    own(f"{READER}base_url = '{endpoint.url}'\nkey = 'mine'\n")
    for text in ("[reader.gpt]\nmodel = 'dearest'\n", "[defaults]\nk = 10000\n", "[strategy.rag]\n[defaults]\nk = 1\n"):
        (repository / "rqa.toml").write_text(text)
        ended = ask()
        assert (ended.returncode, ended.stdout, endpoint.requests) == (2, "", [])
        assert f"`rqa config trust {repository / 'rqa.toml'}`" in ended.stderr
    trusted_files.trust(repository / "rqa.toml", (repository / "rqa.toml").read_bytes())
    assert ask().returncode == 0 and len(endpoint.requests) == 1


def test_a_key_that_was_stored_for_a_port_reaches_no_other(
    ask: Ask, installed: str, endpoint: Server, other: Server
) -> None:
    stored = [installed, "keys", "set", "mine", "--host", _server(endpoint).removeprefix("http://")]
    subprocess.run(stored, input=SECRET, text=True, timeout=60, check=True)
    own(f"{READER}base_url = '{other.url}'\nkey = 'mine'\n")
    ended = ask()
    assert (ended.returncode, other.requests) == (2, [])
    assert f"is bound to {_server(endpoint)}, so it is not sent to {_server(other)}" in ended.stderr
    own(f"{READER}base_url = '{endpoint.url}'\nkey = 'mine'\n")
    assert ask().returncode == 0 and len(endpoint.requests) == 1


@pytest.mark.parametrize("variable", ["RQA_KEY_OPENAI", "OPENAI_API_KEY"])
def test_no_key_of_the_environment_reaches_its_endpoint(
    ask: Ask, repository: Path, endpoint: Server, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, SECRET)
    (repository / "rqa.toml").write_text(f"{READER}base_url = '{endpoint.url}'\nkey = 'openai'\n")
    assert (ask().returncode, endpoint.requests) == (2, [])


@pytest.mark.parametrize("secret", [f"headers = {{Authorization = 'Bearer {SECRET}'}}", "key = 'openai'"])
def test_the_users_own_reader_is_not_redirected(ask: Ask, repository: Path, endpoint: Server, secret: str) -> None:
    secrets.store(Key("openai", SECRET))
    own(f"{READER}base_url = 'https://api.openai.com/v1'\n{secret}\n")
    (repository / "rqa.toml").write_text(f"[reader.gpt]\nbase_url = '{endpoint.url}'\n")
    ended = ask()
    assert (ended.returncode, ended.stdout, endpoint.requests) == (2, "", [])
    assert "hunter2" not in ended.stderr


def test_an_unknown_host_is_not_called(ask: Ask, repository: Path) -> None:
    (repository / "rqa.toml").write_text(f"{READER}base_url = 'https://evil.example/v1'\n")
    ended = ask()
    assert ended.returncode == 2 and "cannot send questions and passages to https://evil.example" in ended.stderr


def test_questions_are_not_sent_to_the_web(installed: str, repository: Path) -> None:
    (repository / "rqa.toml").write_text("[retriever.web]\nprovider = 'mediawiki'\n")
    ended = subprocess.run(
        [installed, "ask", "-r", "web", "Is it?"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2 and "send questions to other hosts" in ended.stderr
    assert "rqa config trust" in ended.stderr


def test_a_prompt_that_links_outside_is_not_sent(ask: Ask, repository: Path, endpoint: Server) -> None:
    (repository / "prompt.txt").symlink_to("../private.txt")
    (repository / "rqa.toml").write_text(
        f"[strategy.norag]\nprompts = {{answer = 'prompt.txt'}}\n{READER}base_url = '{endpoint.url}'\n"
    )
    ended = ask()
    assert (ended.returncode, endpoint.requests) == (2, []) and PRIVATE not in ended.stderr


def test_untrusted_code_does_not_run(ask: Ask, repository: Path, endpoint: Server) -> None:
    (repository / "plugin.py").write_text(f"open({str(repository / 'ran')!r}, 'w')")
    (repository / "rqa.toml").write_text(f"plugins = ['plugin.py']\n{READER}base_url = '{endpoint.url}'\n")
    ended = ask()
    assert ended.returncode == 0 and not (repository / "ran").exists()
    assert "rqa config trust" in ended.stderr


def test_a_file_named_by_the_user_may_do_all_that(ask: Ask, repository: Path, endpoint: Server) -> None:
    # So that the tests above can fail.
    secrets.store(Key("openai", SECRET))
    (repository / "plugin.py").write_text(f"open({str(repository / 'ran')!r}, 'w')")
    file = repository / "rqa.toml"
    file.write_text(f"plugins = ['plugin.py']\n{READER}base_url = '{endpoint.url}'\nkey = 'openai'\n")
    assert ask("--config", str(file)).returncode == 0
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {SECRET}" and (repository / "ran").exists()
