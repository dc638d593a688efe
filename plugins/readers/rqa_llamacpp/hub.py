"""Downloads models from the Hugging Face hub, or from HF_ENDPOINT."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from robust_qa import BusyError, MissingError, RefusedError, ReplyError, RqaError, UnavailableError
from robust_qa.kit import install_hint, printable, put_in_place
from rqa_http import Refusal

from .gguf_files import parts
from .library import Spec, choose

_GB = 10**9
_SPARE = 64 << 20  # bytes left free on the disk


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on the hub. `sha256` is None for files stored in git."""

    name: str
    size: int  # bytes
    sha256: str | None


def fetch(spec: Spec, say: Callable[[str], None], endpoint: str | None = None) -> Path:
    """Download the model for `spec` with all its parts, and return the file to load.

    Resumes interrupted downloads. A file gets its name only after its hash is verified. `say` receives progress
    messages. `endpoint` defaults to HF_ENDPOINT.

    Raises MissingError if the repository or file does not exist, ConfigError if several files match, ReplyError if
    the hash differs, BusyError if another process downloads it, RefusedError and UnavailableError.
    """
    try:
        import huggingface_hub.utils
    except ImportError:
        raise MissingError(
            "Downloading models needs huggingface_hub, which is not installed.",
            hint=f"Run `{install_hint('llama')}`.",
        ) from None
    hub: Any = huggingface_hub
    if not sys.stderr.isatty():
        hub.utils.disable_progress_bars()
    with _hub_errors(spec):
        info = hub.HfApi(endpoint=endpoint).model_info(spec.repo, files_metadata=True)
    remote = {file.name: file for file in map(_remote_file, info.siblings or ())}
    chosen = choose(remote, spec)
    absent = [name for name in parts(chosen) if name not in remote]
    if absent:
        raise MissingError(f"{spec.repo} is incomplete. Missing: {', '.join(map(printable, absent))}.")
    missing = [file for name in parts(chosen) if not _is_here(file := remote[name], spec)]
    _check_space(spec, missing)
    for file in missing:
        say(f"Downloading {printable(file.name)} ({file.size / _GB:.2f} GB) from {spec.repo}")
        with _hub_errors(spec):
            url = hub.hf_hub_url(spec.repo, file.name, revision=info.sha, endpoint=endpoint)
            _download(url, file, spec.folder / file.name, say)
    return spec.folder / chosen


def _remote_file(sibling: Any) -> RemoteFile:
    name = sibling.rfilename
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise ReplyError(f"The hub lists a file outside the repository: {printable(name)!r}.")
    return RemoteFile(name, sibling.size or 0, sibling.lfs.sha256 if sibling.lfs else None)


def _is_here(file: RemoteFile, spec: Spec) -> bool:
    path = spec.folder / file.name
    return path.is_file() and path.stat().st_size == file.size


def _check_space(spec: Spec, files: list[RemoteFile]) -> None:
    needed = sum(file.size - _size(_partial(spec.folder / file.name, file)) for file in files)
    existing = next(parent for parent in (spec.folder, *spec.folder.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if files and needed + _SPARE > free:
        raise RqaError(
            f"{spec.repo} needs {needed / _GB:.2f} GB, but {existing} has only {free / _GB:.2f} GB free.",
            hint="Free disk space, choose a smaller file, or set RQA_DATA_DIR to a folder on another disk.",
        )


def _partial(path: Path, file: RemoteFile) -> Path:
    """Return the path of the partial download. It has the hash, so another revision does not resume it."""
    return path.with_name(f"{path.name}.{(file.sha256 or 'git')[:12]}.part")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _download(url: str, file: RemoteFile, path: Path, say: Callable[[str], None]) -> None:
    # Not `hf_hub_download`: newer versions use one file per process, so they cannot resume.
    import huggingface_hub.utils
    from huggingface_hub.file_download import http_get

    hub: Any = huggingface_hub

    partial = _partial(path, file)
    partial.parent.mkdir(parents=True, exist_ok=True)
    with partial.open("ab") as target:
        try:
            fcntl.flock(target, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"Another process is downloading {path}.", hint="Wait until it has finished.") from None
        done = target.tell()
        if done > file.size:
            target.truncate(0)
            done = 0
        if done:
            say(f"Resuming at {done / file.size:.0%}")
        http_get(url, target, resume_size=done, headers=hub.utils.build_hf_headers(), expected_size=file.size)
        target.flush()
        _verify(partial, file)
        put_in_place(partial, path)


def _verify(partial: Path, file: RemoteFile) -> None:
    with partial.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    if file.sha256 and digest != file.sha256:
        partial.unlink()
        raise ReplyError(
            f"The download of {printable(file.name)} is corrupt: its SHA-256 is {digest}, not {file.sha256}. "
            "rqa deleted it.",
            hint="Download it again. If it fails again, check for a proxy that changes files.",
        )


@contextlib.contextmanager
def _hub_errors(spec: Spec) -> Iterator[None]:
    import huggingface_hub.errors

    errors: Any = huggingface_hub.errors
    try:
        yield
    except errors.OfflineModeIsEnabled as error:
        raise UnavailableError(
            f"Cannot download {spec.repo}: HF_HUB_OFFLINE is set.", hint="Unset it, or use a pulled model."
        ) from error
    except errors.GatedRepoError as error:
        raise RefusedError(
            f"{spec.repo} requires you to accept a licence.",
            hint="Accept it on the repository's page and set HF_TOKEN to a token of your account.",
        ) from error
    except (errors.RepositoryNotFoundError, errors.EntryNotFoundError, errors.HFValidationError) as error:
        raise MissingError(
            f"There is no repository {spec.repo} on the hub, or it is private.",
            hint="Check the name. If it is private, set HF_TOKEN.",
        ) from error
    except errors.HfHubHTTPError as error:
        refusal = Refusal(error.response.status_code, str(error), headers=error.response.headers)
        failed = f"The hub returned status {refusal.status} for {spec.repo}: {printable(str(error)).strip()}"
        raise refusal.error(failed) from error
    except (errors.HTTPError, OSError) as error:  # HTTPError is from requests or httpx, depending on the version
        raise UnavailableError(
            f"Downloading {spec.repo} failed: {printable(str(error)).strip() or type(error).__name__}",
            hint="Run the command again to resume the download.",
        ) from error
