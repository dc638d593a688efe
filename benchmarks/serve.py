"""A soak of `rqa serve` or `rqa mcp --port N`: many clients at once, some of which leave early.

    python benchmarks/serve.py [--door serve|mcp] [--requests 1000 | --minutes 10] [--at-once 64] [--leaving 0.2]

The server runs in this process, over a loopback endpoint that answers after 200 ms; the clients run in another one.
Half of the clients of `rqa serve` ask for a stream. The clients that leave close their connection after a random part
of the time that an answer takes. Reports the answers that were whole, and the tasks, the memory and the open files that
are left: after each fifth of the requests, or with --minutes after each round of --requests.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from endpoint import running

from robust_qa.answering import Session
from robust_qa.cli import Answering, Run
from robust_qa.cli.answering import in_session
from robust_qa.cli.http_server import Address, App

if TYPE_CHECKING:
    from rqa_serve.capacity import Capacity

_LATENCY = 0.2  # seconds of the endpoint
_ROUNDS = 5
_TEXT = " ".join(f"word{n % 37}" for n in range(100))


_MCP = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-06-18",
}


async def _call(client: httpx.AsyncClient, number: int, leaves: bool) -> str:
    """Call the tool `ask`. Return "left", "whole" or what is wrong with the answer."""
    params = {"name": "ask", "arguments": {"question": f"What is {number}?", "strategy": "norag"}}
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    try:
        async with asyncio.timeout(random.uniform(0, 1.5 * _LATENCY) if leaves else None):
            response = await client.post("/mcp", json=body, headers=_MCP)
    except TimeoutError:
        return "left"
    except httpx.HTTPError as error:
        return f"{type(error).__name__}: {error}"
    whole = '"answer":"Paris"' in response.text and f'"id":{number},' in response.text
    return "whole" if whole else f"not whole ({response.status_code})"


async def _ask(client: httpx.AsyncClient, number: int, leaves: bool) -> str:
    """Return "left", "whole" or what is wrong with the answer."""
    passages = [{"title": f"Page {k}", "text": f"{_TEXT} {number}. The answer is Paris."} for k in range(5)]
    pages = {
        "/chat/completions": {"model": "rqa/norag", "messages": [{"role": "user", "content": f"What is {number}?"}]},
        "/rqa/ask": {"strategy": "rag", "question": f"What is number {number}?", "passages": passages},
    }
    page, body = list(pages.items())[number % 4 == 0]
    stream = page == "/chat/completions" and number % 2 == 1
    try:
        async with asyncio.timeout(random.uniform(0, 1.5 * _LATENCY) if leaves else None):
            response = await client.post(page, json={**body, "stream": stream} if stream else body)
    except TimeoutError:
        return "left"
    except httpx.HTTPError as error:
        return f"{type(error).__name__}: {error}"
    if stream:
        whole = response.text.endswith("data: [DONE]\n\n") and '"content":"Paris' in response.text
    elif page == "/rqa/ask":
        whole = response.status_code == 200 and response.json()["answer"] == "Paris"
    else:
        whole = response.status_code == 200 and response.json()["choices"][0]["message"]["content"] == "Paris"
    return "whole" if whole else f"not whole ({response.status_code})"


async def _clients(door: str, url: str, first: int, count: int, at_once: int, leaving: float) -> None:
    """Ask `count` questions and print how often each outcome occurred, as JSON."""
    ask = _ask if door == "serve" else _call
    outcomes: dict[str, int] = {}
    slots = asyncio.Semaphore(at_once)
    chance = random.Random(first)

    async def one(number: int) -> None:
        leaves = chance.random() < leaving
        async with slots, httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, verify=False) as client:
            outcome = await ask(client, number, leaves)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1

    await asyncio.gather(*(one(number) for number in range(first, first + count)))
    print(json.dumps(outcomes))


def _serve(session: Session, capacity: Capacity) -> App:
    from rqa_serve.app import application

    return application(session, {"rqa/norag": "norag", "rqa/rag": "rag"}, capacity, most=1 << 20)


def _mcp(session: Session, answering: Answering) -> App:
    from rqa_mcp.server import server
    from rqa_mcp.tools import Tools

    return server(Tools(Run(), answering, session, [])).streamable_http_app(stateless_http=True)


async def _soak(session: Session, answering: Answering, given: argparse.Namespace) -> None:
    from rqa_serve.capacity import Capacity

    address = Address("127.0.0.1", 0, None)
    capacity = Capacity(given.at_once, 60.0)
    app = _serve(session, capacity) if given.door == "serve" else _mcp(session, answering)
    serving = asyncio.create_task(address.serve(app, seconds=60.0))
    await asyncio.sleep(1)
    started = asyncio.all_tasks()  # those of the server itself
    url = f"{address.url}/v1" if given.door == "serve" else address.url
    part = given.requests if given.minutes else given.requests // _ROUNDS
    total: dict[str, int] = {}
    print(f"at the start: {_held()}", flush=True)
    start = time.monotonic()
    asked = 0
    while time.monotonic() - start < 60 * given.minutes if given.minutes else asked < _ROUNDS * part:
        arguments = (given.door, url, asked, part, given.at_once, given.leaving)
        clients = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--clients", *map(str, arguments), stdout=subprocess.PIPE
        )
        printed, _ = await clients.communicate()
        outcomes = json.loads(printed)
        for outcome, count in outcomes.items():
            total[outcome] = total.get(outcome, 0) + count
        asked += part
        await asyncio.sleep(1)  # connections that were closed are noticed
        gc.collect()
        tasks = asyncio.all_tasks() - started
        print(
            f"after {time.monotonic() - start:.0f} s, {asked} requests: {outcomes}; {len(tasks)} tasks left, "
            f"{capacity.requests} requests in progress, {_held()}",
            flush=True,
        )
    print(f"all: {total}")
    os.kill(os.getpid(), signal.SIGTERM)
    await serving


def _held() -> str:
    """Return the resident memory and the open files of this process."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    files = len([*Path("/proc/self/fd").iterdir()])
    return f"{int(line.split()[1]) / 1024:.1f} MiB, {files} open files"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--door", choices=["serve", "mcp"], default="serve")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=0, help="go on for so long, in rounds of --requests")
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--leaving", type=float, default=0.2, help="share of the clients that leave early")
    parser.add_argument("--clients", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.clients:
        door, url, first, count, at_once, leaving = given.clients
        asyncio.run(_clients(door, url, int(first), int(count), int(at_once), float(leaving)))
        return
    with running(_LATENCY) as url:
        settings = {"plugin": "openai", "base_url": url, "model": "benchmark"}
        options = tuple((f"reader.bench.{key}", value) for key, value in settings.items())
        answering = Answering(reader="bench", option=options, no_cache=True)
        in_session(Run(), answering, lambda session: _soak(session, answering, given))


if __name__ == "__main__":
    main()
