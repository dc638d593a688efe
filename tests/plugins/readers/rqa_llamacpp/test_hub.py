"""`rqa models pull`: huggingface_hub's real client against a hub on loopback."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from standins.hub import Hub, running_hub

from robust_qa import BusyError, ConfigError, RefusedError, ReplyError, RqaError, UnavailableError

pytest.importorskip("huggingface_hub", reason="needs the extra [llama]")

from rqa_llamacpp import hub as hub_client  # private: `rqa models pull` takes its hub only from the environment
from rqa_llamacpp import library  # private: as above

REPO = "tiny/Model-GGUF"
Q4, Q8 = "model-Q4_K_M.gguf", "model-Q8_0.gguf"
CHUNK = 10 << 20  # bytes huggingface_hub writes at once: less than that is lost when a connection breaks
PARTS = ["big-00001-of-00002.gguf", "big-00002-of-00002.gguf"]


def contents(name: str, size: int = 300_000) -> bytes:
    return (b"GGUF" + name.encode()) * (size // (len(name) + 4))


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setenv("RQA_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    with running_hub() as hub:
        hub.repos[REPO] = {name: contents(name) for name in (Q4, Q8, "mmproj-Q4_K_M.gguf", "README.md")}
        yield hub


def fetch(name: str, hub: Hub) -> Path:
    return hub_client.fetch(library.parse(name), lambda _: None, endpoint=hub.url)


def test_a_file_is_fetched_by_its_name(hub):
    path = fetch(f"{REPO}:{Q8}", hub)
    assert path == library.folder() / REPO / Q8
    assert path.read_bytes() == contents(Q8)


def test_without_a_file_the_usual_quantisation_is_chosen(hub):
    assert fetch(REPO, hub).name == Q4


def test_a_quantisation_the_repository_lacks_lists_those_it_has(hub):
    with pytest.raises(ConfigError, match=f"no model 'q2_k'.*\n  {Q4}\n  {Q8}"):
        fetch(f"{REPO}:q2_k", hub)


def test_all_parts_of_a_split_model_are_fetched(hub):
    hub.repos[REPO] = {name: contents(name) for name in PARTS}
    path = fetch(REPO, hub)
    assert path.name == PARTS[0]
    assert [path.with_name(name).read_bytes() for name in PARTS] == [contents(name) for name in PARTS]


def test_a_failed_pull_is_resumed(hub):
    hub.repos[REPO][Q4] = large = contents(Q4, 3 * CHUNK)
    hub.cut_after, hub.status_after_cut = [2 * CHUNK], 500
    with pytest.raises(UnavailableError):
        fetch(REPO, hub)
    assert not (library.folder() / REPO / Q4).exists()
    hub.status = 0
    hub.requests.clear()
    assert fetch(REPO, hub).read_bytes() == large
    assert ranges(hub) == [f"bytes={2 * CHUNK}-"]


def ranges(hub: Hub) -> list[str | None]:
    return [headers.get("Range") for headers in hub.downloads()]


def test_a_corrupt_download_is_deleted(hub):
    hub.stated_hash[Q4] = "0" * 64
    with pytest.raises(ReplyError, match="SHA-256"):
        fetch(REPO, hub)
    assert [path.name for path in (library.folder() / REPO).iterdir()] == []


def test_a_gated_repository_names_the_licence_and_the_token(hub):
    hub.gated.add(REPO)
    with pytest.raises(RefusedError) as refusal:
        fetch(REPO, hub)
    assert "HF_TOKEN" in refusal.value.hint


def test_a_file_name_that_leaves_the_repository_is_refused(hub):
    hub.repos[REPO]["../../evil-Q4_K_M.gguf"] = b"GGUF"
    with pytest.raises(ReplyError, match="outside"):
        fetch(REPO, hub)


def test_a_full_disk_is_noticed_before_the_download(hub, monkeypatch):
    usage = namedtuple("usage", "total used free")(10**9, 10**9 - 1000, 1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(RqaError, match="free"):
        fetch(REPO, hub)
    assert not hub.downloads()


def test_two_pulls_of_one_file_do_not_mix(hub):
    digest = hashlib.sha256(contents(Q4)).hexdigest()
    partial = library.folder() / REPO / f"{Q4}.{digest[:12]}.part"
    partial.parent.mkdir(parents=True)
    with partial.open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BusyError):
            fetch(REPO, hub)


def rqa_models(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a new process, because huggingface_hub reads its variables at import."""
    return subprocess.run(
        [sys.executable, "-m", "robust_qa", "models", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_honours_hf_endpoint_and_hf_token_and_prints_what_to_configure(hub):
    done = rqa_models("pull", REPO, HF_ENDPOINT=hub.url, HF_TOKEN="hf_secret")
    assert done.returncode == 0, done.stderr
    assert f'plugin = "llamacpp"\nmodel = "{REPO}:{Q4}"' in done.stdout
    assert "Downloading model-Q4_K_M.gguf" in done.stderr
    assert hub.downloads()[0]["authorization"] == "Bearer hf_secret"
    assert "hf_secret" not in done.stdout + done.stderr


def test_offline_mode_is_respected(hub):
    done = rqa_models("pull", REPO, HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="1")
    assert "rqa: error: Cannot download tiny/Model-GGUF: HF_HUB_OFFLINE is set." in done.stderr
    assert not hub.requests
