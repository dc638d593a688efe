"""Keys are named, never printed, and sent only to their bound host."""

import os
import stat
from pathlib import Path

import pytest

from robust_qa import ConfigError, InputError, Key, MissingError
from robust_qa.config import files
from robust_qa.config import keys as secrets

SECRET = "sk-hunter2-and-more"


@pytest.fixture
def key_file() -> Path:
    return Path(os.environ["RQA_CONFIG_DIR"], "keys.json")


def test_a_stored_key_is_found_by_its_name() -> None:
    secrets.store(Key("openai", SECRET, "https://api.openai.com"))
    assert secrets.find("openai").reveal("https://api.openai.com/v1") == SECRET


def test_only_the_owner_can_read_the_file_from_the_start(key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[int] = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        modes.append(stat.S_IMODE(self.stat().st_mode))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    old = os.umask(0)
    try:
        secrets.store(Key("openai", SECRET))
        secrets.store(Key("other", SECRET))
    finally:
        os.umask(old)
    assert modes == [0o600, 0o600]
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(key_file.parent.stat().st_mode) == 0o700
    assert {path.name for path in key_file.parent.iterdir()} == {"keys.json", ".keys.json.lock"}


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    with pytest.raises(UnicodeEncodeError), files.atomic_write(tmp_path / "x") as file:
        file.writelines(map(str.encode, ["new", "\ud800"]))
    assert (tmp_path / "x").read_text() == "old" and list(tmp_path.iterdir()) == [tmp_path / "x"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_file_that_others_can_read_is_refused(mode: int, key_file: Path) -> None:
    secrets.store(Key("openai", SECRET))
    key_file.chmod(mode)
    for attempt in (secrets.stored_keys, lambda: secrets.find("openai"), lambda: secrets.store(Key("x", "y"))):
        with pytest.raises(ConfigError, match="Other users can read") as caught:
            attempt()
        assert caught.value.hint.startswith(f"Run `chmod 600 {key_file}`")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"\xff\xfe", b'{"a": 5}', b'{"a": {"host": "x"}}', b'["sk-hunter2', b"[" * 9999]
)
def test_a_damaged_key_file_is_an_error_without_its_content(content: bytes, key_file: Path) -> None:
    secrets.store(Key("openai", SECRET))
    key_file.write_bytes(content)
    with pytest.raises(ConfigError, match="is damaged") as caught:
        secrets.stored_keys()
    assert "rqa keys set NAME --host HOST" in caught.value.hint
    with pytest.raises(ConfigError, match="is damaged"):
        secrets.store(Key("other", SECRET))
    assert key_file.read_bytes() == content  # what can be read in it is not lost
    assert caught.value.__suppress_context__ and caught.value.__cause__ is None  # what json raises holds the text


def test_no_representation_of_a_key_holds_its_secret() -> None:
    key = Key("openai", SECRET, "https://api.openai.com")
    assert SECRET not in f"{key!r} {key} {[key]}"
    assert not hasattr(key, "__dict__")


def test_environment_then_file_then_conventional_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    def revealed() -> str:
        return secrets.find("open-ai").reveal("https://x.example")

    with pytest.raises(MissingError, match=r"The key 'open-ai' for https://x\.example is not stored") as caught:
        revealed()
    assert caught.value.hint == "Run `rqa keys set open-ai --host https://x.example` or set RQA_KEY_OPEN_AI."
    monkeypatch.setenv("OPEN_AI_API_KEY", " third\n")
    assert revealed() == "third"
    secrets.store(Key("open-ai", "second"))
    assert revealed() == "second"
    monkeypatch.setenv("RQA_KEY_OPEN_AI", "first")
    assert revealed() == "first"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example",
        "https://api.openai.com.evil.example",
        "https://evil.example/api.openai.com",
        "https://api.openai.com@evil.example",
        "https://evil.example#api.openai.com",
        "https://xapi.openai.com",
        "https://api.openai.com.",
        "https://",
        "api.openai.com",
    ],
)
def test_a_key_is_sent_only_to_its_host(url: str) -> None:
    secrets.store(Key("openai", SECRET, "https://api.openai.com"))
    with pytest.raises(ConfigError) as caught:
        secrets.find("openai").reveal(url)
    assert SECRET not in f"{caught.value.message} {caught.value.hint}"
    assert "is bound to https://api.openai.com" in caught.value.message


def test_a_key_without_host_goes_to_any_host(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets.store(Key("stored", SECRET))
    monkeypatch.setenv("RQA_KEY_A", SECRET)
    monkeypatch.setenv("B_API_KEY", SECRET)
    for name in ("stored", "a", "b"):
        assert secrets.find(name).reveal("https://any.example") == SECRET


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-hunter2",
        "hf_hunter2hunter2",
        "gsk_hunter2",
        "xai-hunter2",
        "AIzahunter2",
        "ghp_hunter2",
        "eyJhunter2",
        "0123456789abcdef0123456789abcdef",
        "hunter2hunter2hunter2hunter2",
        "Bearer hunter2",
        "hunter2\n",
        "",
        "-",
    ],
)
def test_a_text_that_looks_like_a_key_is_not_a_name_and_is_not_repeated(secret: str) -> None:
    with pytest.raises(ConfigError) as caught:
        secrets.check_name(secret)
    assert not secret.strip("-") or secret not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("text", ["", "  \n", "\ufeff", "two words", "naïve", "a\x00b", "a\nb"])
def test_what_cannot_be_a_key_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(InputError) as caught:
        secrets.check_secret(text)
    assert not text.strip() or text not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    "given", ["api.x.ai", "API.x.ai", "api.x.ai:443", "https://api.x.ai/v1", "https://me@api.x.ai", "api.x.ai/v1"]
)
def test_a_host_is_bound_to_https_by_default_and_may_be_given_as_a_url(given: str) -> None:
    assert secrets.check_host(given) == "https://api.x.ai"


@pytest.mark.parametrize(
    "given, server",
    [
        ("api.x.ai:8443", "https://api.x.ai:8443"),
        ("http://api.x.ai", "http://api.x.ai"),
        ("localhost:11434", "http://localhost:11434"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("https://localhost:8443/v1", "https://localhost:8443"),
    ],
)
def test_a_host_is_bound_to_its_scheme_and_port(given: str, server: str) -> None:
    assert secrets.check_host(given) == server


@pytest.mark.parametrize("given", ["localhost", "127.0.0.1", "[::1]/v1"])
def test_a_loopback_host_needs_its_port(given: str) -> None:
    with pytest.raises(ConfigError, match="has no port") as caught:
        secrets.check_host(given)
    assert "`--host localhost:11434`" in caught.value.hint
