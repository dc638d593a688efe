"""A soak of `rqa serve`: many clients at once, some of which leave early.

    python benchmarks/serve.py [--requests 1000] [--at-once 64] [--leaving 0.2]

The server runs in this process, over a loopback endpoint that answers after 200 ms; the clients run in another one.
Half of the clients ask for a stream. The clients that leave close their connection after a random part of the time
that an answer takes. Reports the answers that were whole, tasks that are left afterwards, and the memory after each
fifth of the requests.
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

import httpx
from endpoint import running

from robust_qa.answering import Session
from robust_qa.cli import Answering, Run
from robust_qa.cli.batch_run import in_session
from robust_qa.cli.http_server import Address

_LATENCY = 0.2  # seconds of the endpoint
_ROUNDS = 5
_TEXT = " ".join(f"word{n % 37}" for n in range(100))


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
        whole = response.text.endswith("data: [DONE]\n\n") and '"content":"Answer: Paris' in response.text
    elif page == "/rqa/ask":
        whole = response.status_code == 200 and response.json()["answer"] == "Paris"
    else:
        whole = response.status_code == 200 and response.json()["choices"][0]["message"]["content"] == "Answer: Paris"
    return "whole" if whole else f"not whole ({response.status_code})"


async def _clients(url: str, first: int, count: int, at_once: int, leaving: float) -> None:
    """Ask `count` questions and print how often each outcome occurred, as JSON."""
    outcomes: dict[str, int] = {}
    slots = asyncio.Semaphore(at_once)
    chance = random.Random(first)

    async def one(number: int) -> None:
        leaves = chance.random() < leaving
        async with slots, httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
            outcome = await _ask(client, number, leaves)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1

    await asyncio.gather(*(one(number) for number in range(first, first + count)))
    print(json.dumps(outcomes))


async def _soak(session: Session, requests: int, at_once: int, leaving: float) -> None:
    from rqa_serve.app import application
    from rqa_serve.capacity import Capacity

    address = Address("127.0.0.1", 0, None)
    capacity = Capacity(at_once, 60.0)
    models = {"rqa/norag": "norag", "rqa/rag": "rag"}
    app = application(session, models, capacity, most=1 << 20)
    serving = asyncio.create_task(address.serve(app, seconds=60.0))
    await asyncio.sleep(1)
    started = asyncio.all_tasks()  # those of the server itself
    url = f"{address.url}/v1"
    part = requests // _ROUNDS
    total: dict[str, int] = {}
    for number in range(_ROUNDS):
        arguments = (url, number * part, part, at_once, leaving)
        began = time.perf_counter()
        clients = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--clients", *map(str, arguments), stdout=subprocess.PIPE
        )
        printed, _ = await clients.communicate()
        outcomes = json.loads(printed)
        for outcome, count in outcomes.items():
            total[outcome] = total.get(outcome, 0) + count
        seconds = time.perf_counter() - began
        await asyncio.sleep(1)  # connections that were closed are noticed
        gc.collect()
        tasks = asyncio.all_tasks() - started
        print(
            f"{(number + 1) * part} requests: {outcomes}, {seconds:.1f} s; {len(tasks)} tasks left, "
            f"{capacity.requests} requests in progress, {_memory():.1f} MiB",
            flush=True,
        )
    print(f"all: {total}")
    os.kill(os.getpid(), signal.SIGTERM)
    await serving


def _memory() -> float:
    """Return the resident memory of this process in MiB."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--leaving", type=float, default=0.2, help="share of the clients that leave early")
    parser.add_argument("--clients", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.clients:
        url, first, count, at_once, leaving = given.clients
        asyncio.run(_clients(url, int(first), int(count), int(at_once), float(leaving)))
        return
    with running(_LATENCY) as url:
        settings = {"plugin": "openai", "base_url": url, "model": "benchmark"}
        options = tuple((f"reader.bench.{key}", value) for key, value in settings.items())
        answering = Answering(reader="bench", option=options, no_cache=True)
        in_session(Run(), answering, lambda session: _soak(session, given.requests, given.at_once, given.leaving))


if __name__ == "__main__":
    main()
