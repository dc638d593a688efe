"""The systems that the scoreboard measures. Each answers the questions of a sample in a process of its own.

    python benchmarks/systems.py SYSTEM SET OUT.json [--reader NAME | --base-url URL --model NAME]

OUT gets, for each question, up to three texts that the system shows, best first, each with its document; its answer,
and the sides of a conflict. Peers rank the passages that rqa cuts the documents into.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import robust_qa
from robust_qa import Answer, Passage, Question
from robust_qa.host.loading import Host
from robust_qa.kit import content_terms, with_title
from rqa_files import Cut, read

DATA = Path(__file__).with_name("data")
WHOLE = ("unseen_documents", "pubmedqa")  # asked over all documents at once, the others over one each
SHOWN, PROMPTED = 3, 5  # passages shown, and passages in a model's prompt

Row = dict[str, Any]
Measured = tuple[list[Row], list[float], float]


class Text(NamedTuple):
    document: str
    text: str


Search = Callable[[str], list[Text]]
Ask = Callable[[str, list[Text]], str | None]  # a question and what was found to an answer


def sample(name: str, most: int = 0) -> tuple[dict[str, str], list[Row]]:
    """Return the documents of a sample by name, and its questions or claims: all, or the first `most`."""
    path = DATA / f"{name}.jsonl"  # the sets that others wrote are compressed
    stored = path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())
    text = stored.decode()
    rows = [json.loads(line) for line in text.split("\n") if line]
    documents = {row["document"]: row["text"] for row in rows if "document" in row}
    asked = [row for row in rows if "document" not in row]
    if most:
        asked = asked[:most]
        if name not in WHOLE:
            documents = {row["doc"]: documents[row["doc"]] for row in asked if "doc" in row}
    return documents, asked


# -- rqa


async def rqa(name: str, folder: Path, asked: Sequence[Row], how: dict[str, Any]) -> Measured:
    """Return the answers, the seconds of each, and the seconds to open sessions, which index documents.

    `found` has the passages that rqa retrieves, as `rqa search` shows them.
    """
    found, seconds, opening = [], [], 0.0
    for scope, rows in groupby(asked, partial(document_of, name)):
        how = {**how, "docs": folder / scope} if scope else how
        began = time.perf_counter()
        async with robust_qa.open_session(settings={"cache": {"enabled": False}}, **how) as session:
            opening += time.perf_counter() - began
            for row in rows:
                began = time.perf_counter()
                answer = await session.answer(question_of(row))
                seconds.append(time.perf_counter() - began)
                passages = await session.toolbox_for(question_of(row)).retrieve(k=10)
                texts = [Text(inside(each.source, folder), with_title(each.title, each.text)) for each in passages]
                found.append({"id": row["id"], **told(answer, folder), "found": texts[:SHOWN]})
    return found, seconds, opening


def document_of(name: str, row: Row) -> str:
    """Return the document that a question is asked over, "." for all, "" for passages of its own."""
    return "." if name in WHOLE else row.get("doc", "")


def question_of(row: Row) -> Question:
    if "passages" not in row:
        return Question(row["question"])
    own = (Passage(each["text"], id=each["id"], source=each["source"]) for each in row["passages"])
    return Question(row["question"], passages=tuple(own))


def inside(source: str, folder: Path) -> str:
    return os.path.relpath(source, folder) if Path(source).is_absolute() else source


def told(answer: Answer, folder: Path) -> Row:
    sides = [cited for side in answer.conflicts for cited in side.citations]
    quotes = [*(answer.citations or sides), *answer.closest][:SHOWN]
    return {
        "shown": [Text(inside(each.source, folder), each.quote) for each in quotes],
        "answer": answer.text,
        "sides": [side.text for side in answer.conflicts],
    }


# -- peers


def passages_of(folder: Path, names: Sequence[str]) -> list[Text]:
    """Return the passages that rqa cuts documents into, with their titles."""
    return [
        Text(name, with_title(cut.title, cut.text))
        for name in names
        for document in read(folder / name, lambda *_: None, Host().file_formats)
        for cut in Cut().passages(document)
    ]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def fts5(passages: Sequence[Text], _: Path) -> Search:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE p USING fts5(text, tokenize='porter')")
    database.executemany("INSERT INTO p VALUES (?)", ((each.text,) for each in passages))

    def search(question: str) -> list[Text]:
        query = " OR ".join(f'"{word}"' for word in words(question))
        rows = database.execute("SELECT rowid FROM p WHERE p MATCH ? ORDER BY rank, rowid LIMIT 10", (query,))
        return [passages[number - 1] for (number,) in rows]

    return search


def bm25s(passages: Sequence[Text], _: Path) -> Search:
    import bm25s

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", show_progress=False)

    index = bm25s.BM25()
    index.index(tokens([each.text for each in passages]), show_progress=False)

    def search(question: str) -> list[Text]:
        found = index.retrieve(tokens([question]), k=min(10, len(passages)), show_progress=False)
        return [passages[int(number)] for number, score in zip(found[0][0], found[1][0], strict=True) if score > 0]

    return search


def ripgrep(passages: Sequence[Text], folder: Path) -> Search:
    """One passage a line. rg does not rank, so the lines with the most different words of the question come first."""
    file = folder / "passages.txt"
    file.write_text("".join(" ".join(each.text.split()) + "\n" for each in passages), encoding="utf-8")

    def search(question: str) -> list[Text]:
        found: Counter[int] = Counter()
        command = ["rg", "--no-config", "-ainow", "|".join({*words(question)}), str(file)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        for number, _ in {tuple(line.lower().split(":", 1)) for line in run.stdout.split("\n") if line}:
            found[int(number)] += 1
        ranked = sorted(found, key=lambda number: (-found[number], number))
        return [passages[number - 1] for number in ranked[:10]]

    return search


def qmd(passages: Sequence[Text], folder: Path) -> Search:
    """One passage a Markdown file, searched with `qmd search`, which calls no model."""
    files = folder / "passages"
    files.mkdir()
    for number, each in enumerate(passages):
        (files / f"p{number}.md").write_text(each.text, encoding="utf-8")
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "QMD_CONFIG_DIR": str(folder)}
    command = ["qmd", "collection", "add", str(files), "--name", "passages"]
    subprocess.run(command, env=environment, check=True, capture_output=True)

    def search(question: str) -> list[Text]:
        command = ["qmd", "search", "--json", "-n", "10", " ".join(content_terms(question))]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        rows = json.loads(run.stdout) if run.stdout.startswith("[") else []
        return [passages[int(re.search(r"p(\d+)\.md", row["file"])[1])] for row in rows]  # type: ignore[index]

    return search


def vectors(passages: Sequence[Text], _: Path) -> Search:
    """What a store of vectors finds with exact search, for the vectors of rqa's embedder."""
    from rqa_embedded import EmbeddedEmbedder
    from rqa_testing import embedder_handle

    embedder, loop = embedder_handle(EmbeddedEmbedder(EmbeddedEmbedder.Options())), asyncio.new_event_loop()
    rows = loop.run_until_complete(embedder.embed([each.text for each in passages]))

    def search(question: str) -> list[Text]:
        scores = rows @ loop.run_until_complete(embedder.embed_query(question)).reshape(-1)
        return [passages[int(number)] for number in (-scores).argsort(kind="stable")[:10]]

    return search


PEERS: dict[str, Callable[[Sequence[Text], Path], Search]] = {
    "fts5": fts5,
    "bm25s": bm25s,
    "ripgrep": ripgrep,
    "qmd": qmd,
    "vectors": vectors,
}
PROGRAMS = {"ripgrep": "rg", "qmd": "qmd"}  # the program of a peer that is one


def searched(peer: str, name: str, folder: Path, asked: Sequence[Row], ask: Ask) -> Measured:
    """Return as `rqa` does."""
    found, seconds, opening = [], [], 0.0
    for number, (scope, rows) in enumerate(groupby(asked, lambda row: document_of(name, row) or row["id"])):
        own = list(rows)
        began = time.perf_counter()
        if "passages" in own[0]:
            passages = [Text(each["source"], each["text"]) for each in own[0]["passages"]]
        else:
            files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
            passages = passages_of(folder, sorted(files) if scope == "." else [scope])
        place = folder.with_name(f"index-{number}")
        place.mkdir()
        search = PEERS[peer](passages, place)
        opening += time.perf_counter() - began
        for row in own:
            began = time.perf_counter()
            texts = search(row["question"])
            answer = ask(row["question"], texts)
            seconds.append(time.perf_counter() - began)
            found.append({"id": row["id"], "shown": texts[:SHOWN], "answer": answer, "sides": []})
    return found, seconds, opening


def model(url: str, name: str) -> Ask:
    """Return what asks a model server about the first passages that FTS5 finds."""
    wanted = "Answer the question from these passages in a few words. If they do not answer it, reply only: unknown"

    def ask(question: str, texts: list[Text]) -> str | None:
        prompt = "\n\n".join([wanted, *(each.text for each in texts[:PROMPTED]), f"Question: {question}"])
        body = {"model": name, "messages": [{"role": "user", "content": prompt}], "temperature": 0, "max_tokens": 100}
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
        }
        request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=600) as response:
            reply = json.load(response)["choices"][0]["message"]["content"].strip()
        return None if reply.lower().startswith("unknown") else reply

    return ask


def installed(peer: str) -> bool:
    from importlib.util import find_spec

    return bool(shutil.which(PROGRAMS[peer])) if peer in PROGRAMS else peer != "bm25s" or find_spec("bm25s") is not None


def peak() -> float:
    """Return the peak megabytes of this process, or of the largest of its children."""
    status = Path("/proc/self/status").read_text("ascii")  # resource counts the parent's memory before exec, too
    own = int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1024 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=["rqa", "rqa-reader", "rqa-model", "model", *PEERS])
    parser.add_argument("set")
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--reader")
    parser.add_argument("--base-url")
    parser.add_argument("--model")
    given = parser.parse_args()
    documents, asked = sample(given.set, given.rows)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "documents")
        os.environ |= {f"RQA_{each}_DIR": f"{temporary}/{each}" for each in ("CONFIG", "DATA", "CACHE")}
        for name, text in documents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        server = {"plugin": "openai", "base_url": given.base_url, "model": given.model}
        how: dict[str, dict[str, Any]] = {
            "rqa": {},
            "rqa-reader": {"reader": given.reader},
            "rqa-model": {"reader": server},
        }
        if given.system in how:
            found, seconds, opening = asyncio.run(rqa(given.set, folder, asked, how[given.system]))
        elif given.system == "model":
            found, seconds, opening = searched("fts5", given.set, folder, asked, model(given.base_url, given.model))
        else:
            found, seconds, opening = searched(given.system, given.set, folder, asked, lambda *_: None)
    result = {"rows": found, "seconds": seconds, "opening": opening, "megabytes": peak()}
    given.out.write_text(json.dumps(result, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
