"""A headless Chromium, driven over its debugging pipe: no driver, no port, no dependency."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE = 20  # seconds
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip


class Browser:
    """One page of a browser. `requests` are the addresses it asked for, `troubles` its errors."""

    def __init__(self, send: int, receive: int) -> None:
        self.requests: list[str] = []
        self.troubles: list[str] = []
        self._send = send
        self._receive = receive
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def open(self, address: str, *, width: int = 1280, height: int = 900, dark: bool = False, media: str = "") -> None:
        """Show a page in a window of that size, with `media` "print" as on paper, and wait until it is there."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", media=media, features=[theme])
        self.requests.clear()
        self.troubles.clear()
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=address)
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'")

    def evaluate(self, script: str) -> Any:
        """What an expression is in the page; a promise is waited for."""
        told = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, script: str) -> None:
        """Until an expression is true."""
        end = time.monotonic() + _PATIENCE
        while not self.evaluate(f"Boolean({script})"):
            assert time.monotonic() < end, f"never: {script}"
            time.sleep(0.02)

    def press(self, key: str, code: int, text: str = "") -> None:
        """A key, as from the keyboard."""
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if kind == "keyDown" and text else {}
            self._call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **typed)

    def write(self, text: str) -> None:
        """Text into what has the focus."""
        self._call("Input.insertText", text=text)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """A PNG of what is seen, or of the whole page."""
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result
            self._note(told)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = os.read(self._receive, 1 << 20)
            assert chunk, "Chromium ended"
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case "Runtime.exceptionThrown":
                self.troubles.append(str(told["exceptionDetails"]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.troubles.append(told["entry"]["text"])
            case "Page.javascriptDialogOpening":
                self.troubles.append(f"dialog: {told['message']}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a profile of its own; the test is skipped where there is none."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    its_input, send = os.pipe()
    receive, its_output = os.pipe()

    def plug() -> None:  # the pipe's ends are descriptors 3 and 4, by convention
        kept = os.dup(its_input), os.dup(its_output)
        os.dup2(kept[0], 3)
        os.dup2(kept[1], 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [found, *_FLAGS, "--remote-debugging-pipe", f"--user-data-dir={profile}"],
            preexec_fn=plug, pass_fds=(3, 4), close_fds=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(its_input)
        os.close(its_output)
        try:
            yield Browser(send, receive)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(send)
            os.close(receive)
