"""How soon an answer is on the screen: `rqa ask` in tmux, over an endpoint that sends a token every 50 ms.

    python benchmarks/streaming.py

Prints the screen each time it changes, with the seconds since the endpoint sent the first token of the answer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

_TOKEN_SECONDS, _LOOK_SECONDS = 0.05, 0.02
_ANSWER = "The lighthouse at Skerry Point was built in 1871 by the engineer Ingrid Valdane from the stone of Orrin."
_SESSION = f"rqa-streaming-{os.getpid()}"


class _Endpoint(BaseHTTPRequestHandler):
    first_token = 0.0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for word in f"Documents: 1\nAnswer: {_ANSWER}".split(" "):
            if word == _ANSWER.split(" ", 1)[0]:
                _Endpoint.first_token = time.monotonic()
            chunk = {"choices": [{"index": 0, "delta": {"content": f"{word} "}}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            time.sleep(_TOKEN_SECONDS)
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:
        pass


def _tmux(*arguments: str) -> str:
    return subprocess.run(["tmux", "-L", _SESSION, *arguments], capture_output=True, text=True, check=True).stdout


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with TemporaryDirectory() as folder:
        Path(folder, "found.json").write_text(json.dumps(["The lighthouse was built in 1871."]))
        reader = {"plugin": "openai", "model": "m", "base_url": f"http://127.0.0.1:{server.server_port}/v1"}
        options = " ".join(f"-O reader.s.{key}={value}" for key, value in {**reader, "structured": "none"}.items())
        options += " --no-cache -O history.enabled=false"
        rqa = f"{sys.executable} -m robust_qa ask --passages found.json -s rag --reader s {options}"
        command = f'clear; {rqa} "When was it built?"; sleep 1'
        _tmux("new-session", "-d", "-s", _SESSION, "-x", "100", "-y", "20", "-c", folder, command)
        seen = ""
        while True:
            try:
                screen = _tmux("capture-pane", "-p", "-t", _SESSION).rstrip()
            except subprocess.CalledProcessError:
                break  # the command has ended
            if screen != seen and screen:
                since = f"{time.monotonic() - _Endpoint.first_token:6.2f} s" if _Endpoint.first_token else "before  "
                print("\n".join(f"{since} | {line}" for line in screen.splitlines()))
            seen = screen
            time.sleep(_LOOK_SECONDS)
    server.shutdown()


if __name__ == "__main__":
    main()
