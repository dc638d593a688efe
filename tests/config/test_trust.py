"""What an untrusted rqa.toml in a repository cannot do, and which files are trusted."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from robust_qa import ConfigError, Key, Url
from robust_qa.config import keys as secrets
from robust_qa.config import layers as config
from robust_qa.config import trusted_files
from robust_qa.config.options import build

SECRET = "sk-hunter2-and-more"


@dataclass
class Options:
    base_url: Url = Url("https://api.openai.com/v1")  # noqa: RUF009
    key: Key | None = None
    file: Path | None = None
    files: dict[str, Path] = field(default_factory=dict)
    mirrors: list[Url] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    careless_file: str = ""
    careless_url: str = ""
    temperature: float = 0.0


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The untrusted repository, which is the working directory, next to a private file."""
    (tmp_path / "private.txt").write_text("private")
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def says(repository: Path) -> Callable[[str], Path]:
    """Write [reader.gpt] of the untrusted rqa.toml."""

    def write(text: str) -> Path:
        path = repository / "rqa.toml"
        path.write_text(f"[reader.gpt]\n{text}\n", "utf-8")
        return path

    return write


def own(text: str) -> None:
    """Write the user's configuration."""
    path = Path(os.environ["RQA_CONFIG_DIR"], "config.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


def options(**arguments: Any) -> Any:
    return build(Options, config.load(**arguments).table("reader", "gpt"))


def refusal(**arguments: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        options(**arguments)
    return caught.value


Says = Callable[[str], Path]

OUTSIDE = [
    "../private.txt",
    "../repository-of-another/file",
    "~/.ssh/id_rsa",
    "/etc/passwd",
    "a/../../private.txt",
    "./..",
    "link",
    "folder/inner",
]


@pytest.fixture
def links(repository: Path) -> None:
    (repository / "link").symlink_to("../private.txt")
    (repository / "folder").symlink_to("..")


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("option", ["file = '{}'", "files.a = '{}'", "careless_file = '{}'", "body.deep = ['{}']"])
def test_an_untrusted_file_cannot_name_a_file_outside_its_folder(option: str, path: str, says: Says) -> None:
    file = says(option.format(path))
    error = refusal()
    assert error.message.startswith(f"{file}: `reader.gpt.")
    assert "which is outside its folder" in error.message
    assert f"rqa config trust {file}" in error.hint


@pytest.mark.parametrize("path", ["prompt.txt", "a/b/../c.txt", "not/there", "inner", "loop/x"])
def test_an_untrusted_file_may_name_files_of_its_folder(path: str, says: Says, repository: Path) -> None:
    (repository / "inner").symlink_to("prompt.txt")
    (repository / "loop").symlink_to("loop")
    says(f"file = '{path}'\nfiles.a = '{path}'")
    assert options().file == repository / path


@pytest.mark.parametrize("target", ["private.txt", "."])
def test_a_folder_with_a_link_to_the_outside_is_refused(
    target: str, says: Says, repository: Path, tmp_path: Path
) -> None:
    # What is written to index/meta.json would land in the user's file.
    (repository / "index" / "deep").mkdir(parents=True)
    (repository / "index" / "deep" / "within").symlink_to("../../rqa.toml")
    says("file = 'index'")
    assert options().file == repository / "index"
    (repository / "index" / "deep" / "meta.json").symlink_to(tmp_path / target)
    assert "outside its folder" in refusal().message


@pytest.mark.parametrize("option", ["base_url = '{}'", "mirrors = ['{}']", "careless_url = '{}'", "body.url = '{}'"])
@pytest.mark.parametrize("url", ["https://evil.example/v1", "http://10.0.0.1", "https://localhost.evil.example"])
def test_an_untrusted_file_cannot_name_an_unknown_host(option: str, url: str, says: Says) -> None:
    file = says(option.format(url))
    error = refusal()
    assert "an untrusted file cannot send questions and passages to " in error.message and str(file) in error.message
    assert f"rqa config trust {file}" in error.hint


@pytest.mark.parametrize(
    "url",
    [
        " https://evil.example",
        "HTTPS://evil.example",
        "https:/evil.example",
        "https:evil.example",
        "redis://evil.example",
        "file:///etc/passwd",
        "http://[",
        "https://evil.example\\\\@localhost",
        "https://evil.example\\t@localhost",
        "http://me@localhost",
    ],
)
def test_ambiguous_spellings_of_a_host_are_refused(url: str, says: Says) -> None:
    says(f'careless_url = "{url}"')
    assert "an untrusted file cannot send questions and passages to " in refusal().message


@pytest.mark.parametrize("url", ["http://localhost:8080/v1", "http://127.0.0.1:1", "http://[::1]:8000"])
def test_an_untrusted_file_may_name_this_machine(url: str, says: Says) -> None:
    says(f"base_url = '{url}'")
    assert options().base_url == url


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of every origin."""
    secrets.store(Key("bound", SECRET, "https://api.openai.com"))
    secrets.store(Key("unbound", SECRET))
    monkeypatch.setenv("RQA_KEY_RQA", SECRET)
    monkeypatch.setenv("CONVENTIONAL_API_KEY", SECRET)
    return ["bound", "unbound", "rqa", "conventional"]


def test_an_untrusted_file_cannot_name_a_host_by_a_key_that_is_bound_to_it(says: Says, keys: list[str]) -> None:
    assert keys
    says("base_url = 'https://api.openai.com/v1'")
    assert "an untrusted file cannot send questions and passages to https://api.openai.com" in refusal().message


@pytest.mark.parametrize("url", ["http://localhost:6666", "https://api.openai.com/v1"])
def test_an_untrusted_file_uses_no_key(url: str, says: Says, keys: list[str]) -> None:
    own(f"[reader.gpt]\nbase_url = '{url}'\n")
    for name in keys:
        file = says(f"key = '{name}'")
        error = refusal()
        assert error.message == f"{file}: `reader.gpt.key`: rqa uses no key while {file} is not trusted."
        assert f"rqa config trust {file}" in error.hint


@pytest.mark.parametrize(
    "text", ["[reader.gpt]\nmodel = 'dearest'", "[defaults]\nreader = 'gpt'", "[strategy.rag]\nn = 1"]
)
def test_no_key_of_the_users_is_used_beside_an_untrusted_file(
    text: str, repository: Path, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in keys:
        (repository / "rqa.toml").unlink(missing_ok=True)
        own(f"[reader.gpt]\nkey = '{name}'\n")
        assert options().key.reveal("https://api.openai.com/v1") == SECRET
        (repository / "rqa.toml").write_text(text)
        assert "rqa uses no key" in refusal().message
        own("")
        assert "rqa uses no key" in refusal(overrides=[("reader.gpt.key", name)]).message
    monkeypatch.setenv("RQA_READER__GPT__KEY", "bound")
    assert "rqa uses no key" in refusal().message


@pytest.mark.parametrize(
    "text",
    [
        "headers = {Authorization = 'Bearer hunter2'}",
        "body = {token = 'hunter2'}",
        "careless_file = 'hunter2'",
        "file = 'hunter2'",
    ],
)
@pytest.mark.parametrize("option", ["base_url", "careless_url"])
def test_an_untrusted_file_does_not_redirect_a_table_of_the_user(text: str, option: str, says: Says) -> None:
    own(f"[reader.gpt]\n{text}\n")
    file = says(f"{option} = 'http://localhost:6666'")
    error = refusal()
    assert error.message.startswith(f"{file}: an untrusted file cannot set `reader.gpt.{option}`, because ")
    assert "hunter2" not in error.message


def test_an_untrusted_file_does_not_redirect_headers_by_adding_to_them(says: Says) -> None:
    own("[reader.gpt]\nheaders = {Authorization = 'Bearer hunter2'}\n")
    says("base_url = 'http://localhost:6666'\nheaders.more = 'x'")
    assert "an untrusted file cannot set `reader.gpt.base_url`" in refusal().message


def test_an_untrusted_file_does_not_redirect_what_the_environment_sets(
    says: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_READER__GPT__HEADERS__AUTHORIZATION", "Bearer hunter2")
    says("base_url = 'http://localhost:6666'")
    assert "because RQA_READER__GPT__HEADERS__AUTHORIZATION sets" in refusal().message


def test_an_untrusted_file_does_not_move_the_cache(repository: Path) -> None:
    # A database that a stranger made is not opened, and none is written where a link of theirs leads.
    (repository / "rqa.toml").write_text("[cache]\nfolder = 'cache'\n")
    with pytest.raises(ConfigError, match=r"an untrusted file cannot set `cache\.folder`"):
        config.load()


def test_values_of_the_user_are_not_restricted(says: Says) -> None:
    own("[reader.gpt]\nbase_url = 'https://any.example'\nfile = '/etc/passwd'\nkey = 'unbound'\n")
    secrets.store(Key("unbound", SECRET))
    assert options().key.reveal("https://any.example") == SECRET


def test_a_trusted_file_may_do_everything(says: Says) -> None:
    secrets.store(Key("unbound", SECRET))
    file = says("base_url = 'https://any.example'\nfile = '../private.txt'\nkey = 'unbound'")
    trusted_files.trust(file, file.read_bytes())
    built = options()
    assert built.key.reveal(built.base_url) == SECRET and built.file.read_text() == "private"
    assert options(file=file).file.read_text() == "private"


def test_a_link_to_a_trusted_file_gains_nothing(says: Says, repository: Path, tmp_path: Path) -> None:
    trusted = tmp_path / "mine" / "rqa.toml"
    trusted.parent.mkdir()
    trusted.write_text("plugins = ['plugin.py']\n")
    trusted_files.trust(trusted, trusted.read_bytes())
    (repository / "plugin.py").write_text("raise SystemExit('code of the stranger')")
    (repository / "rqa.toml").symlink_to(trusted)
    assert config.load().plugin_files()[0] == []


def test_the_command_that_is_offered_is_safe_to_paste(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "x; touch owned #"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "rqa.toml").write_text("plugins = ['p.py; touch owned']\n[reader.gpt]\nfile = '/etc/passwd'\n")
    assert f"`rqa config trust '{folder}/rqa.toml'`" in refusal().hint
    [line] = config.load().plugin_files()[1]
    assert f"`rqa config trust '{folder}/rqa.toml'`" in line and "--plugin 'p.py; touch owned'" in line


# -- trusted files


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rqa.toml"
    path.write_bytes(b"k = 1")
    return path


def test_a_trusted_file_is_trusted_until_it_changes(file: Path) -> None:
    trusted_files.trust(file, b"k = 1")
    assert trusted_files.is_trusted(file, b"k = 1")
    assert not trusted_files.is_trusted(file, b"k = 2")


def test_the_same_content_elsewhere_is_not_trusted(file: Path, tmp_path: Path) -> None:
    trusted_files.trust(file, b"k = 1")
    assert not trusted_files.is_trusted(tmp_path / "other" / "rqa.toml", b"k = 1")


def test_a_link_to_a_trusted_file_is_not_trusted(file: Path, tmp_path: Path) -> None:
    # Its relative paths would name other files: those beside the link.
    trusted_files.trust(file, b"k = 1")
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "rqa.toml").symlink_to(file)
    assert not trusted_files.is_trusted(tmp_path / "repository" / "rqa.toml", b"k = 1")


def test_trust_can_be_undone(file: Path) -> None:
    assert not trusted_files.distrust(file)
    trusted_files.trust(file, b"k = 1")
    assert trusted_files.distrust(file)
    assert not trusted_files.is_trusted(file, b"k = 1")


@pytest.mark.parametrize("content", [b"", bytes(99), b"[]", b"{", b"\xff", b"null", b'{"x": 1}'])
def test_a_damaged_trust_file_trusts_nothing_and_is_replaced(file: Path, content: bytes) -> None:
    trusted = Path(os.environ["RQA_CONFIG_DIR"], "trusted.json")
    trusted.parent.mkdir()
    trusted.write_bytes(content)
    assert not trusted_files.is_trusted(file, b"k = 1")
    trusted_files.trust(file, b"k = 1")
    assert trusted_files.is_trusted(file, b"k = 1")
    assert stat.S_IMODE(trusted.stat().st_mode) == 0o600
