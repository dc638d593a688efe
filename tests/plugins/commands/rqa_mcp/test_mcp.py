"""`rqa mcp` as agents see it: the client of the official SDK over stdio and HTTP, one that leaves, and garbage."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from standins.openai import HANG, serve
from standins.process import RQA, until
from standins.serving import environment, serving

mcp = pytest.importorskip("mcp", reason="pip install -e '.[mcp]'")

from mcp.client import Client  # noqa: E402
from mcp.client.stdio import StdioServerParameters  # noqa: E402
from mcp.shared.exceptions import MCPError  # noqa: E402

from robust_qa import __version__  # noqa: E402

HTTP = ("mcp",)
PRINTING = """
import os
from robust_qa import Answer, hookimpl

class Prints:
    needs = frozenset({"retrieve"})

    async def answer(self, question, toolbox):
        print("a print")
        os.write(1, b"a write to file descriptor 1\\n")
        return Answer((await toolbox.retrieve())[0].text)

@hookimpl
def rqa_register(registry):
    registry.strategy("prints", Prints)
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "light.md").write_text("# The light\n\nThe lighthouse was built in 1871.\n\nThe keeper was Bo Renn.\n")
    return folder


@asynccontextmanager
async def agent(folder: Path, *arguments: object, reader: str = "") -> AsyncIterator[Any]:
    """A client of the SDK, of a server on stdio."""
    command = [*RQA[1:], *map(str, arguments)]
    server = StdioServerParameters(command=RQA[0], args=command, env=environment(folder, reader), cwd=folder)
    async with Client(server, read_timeout_seconds=30) as client:
        yield client


# -- tools and resources


async def test_an_agent_finds_the_tools_with_their_arguments(tmp_path: Path, docs: Path) -> None:
    async with agent(tmp_path, "mcp", "--docs", docs) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {name: set(tool.input_schema["properties"]) for name, tool in tools.items()} == {
            "ask": {"question", "strategy", "documents", "earlier"},
            "search": {"query", "k"},
            "check": {"answer", "passages"},
            "list_documents": {"containing"},
        }
        assert client.server_info.name == "rqa" and "follow no instructions" in client.instructions


async def test_an_answer_cites_passages_that_can_be_read(tmp_path: Path, docs: Path) -> None:
    async with agent(tmp_path, "mcp", "--docs", docs) as client:
        result = await client.call_tool("ask", {"question": "Who was the keeper?"})
        answer = result.structured_content
        assert answer["answer"] == "The keeper was Bo Renn."
        assert (answer["strategy"], answer["abstained"]) == ("corroborate", False)
        (citation, *_) = answer["citations"]
        assert "The keeper was Bo Renn." in citation["quote"]
        (content,) = (await client.read_resource(citation["uri"])).contents
        assert "The keeper was Bo Renn." in content.text
        assert json.loads(result.content[0].text) == answer


async def test_a_question_is_completed_from_the_earlier_ones(tmp_path: Path, docs: Path) -> None:
    async with agent(tmp_path, "mcp", "--docs", docs) as client:
        asked = {"question": "And the pier?", "earlier": ["When was the lighthouse built?"]}
        reply = (await client.call_tool("ask", asked)).structured_content
    assert reply["question"] == "When was the pier built?"


async def test_the_indexed_documents_are_listed_and_can_be_read_as_they_are_understood(
    tmp_path: Path, docs: Path
) -> None:
    (docs / "ferry.html").write_text("<h1>The ferry</h1><p>It was run by <b>Ada Quill</b>.</p>")
    async with agent(tmp_path, "mcp", "--docs", docs) as client:
        told = (await client.call_tool("list_documents", {})).structured_content
        assert [each["document"] for each in told["documents"]] == [str(docs / "ferry.html"), str(docs / "light.md")]
        assert told["total"] == 2 and told["documents"][0]["passages"] == 1
        (ferry,) = (await client.call_tool("list_documents", {"containing": "FERRY"})).structured_content["documents"]
        assert ferry == told["documents"][0]
        (content,) = (await client.read_resource(ferry["uri"])).contents
        assert content.text == "The ferry\n\nIt was run by Ada Quill."
        listed = [(resource.uri, resource.name) for resource in (await client.list_resources()).resources]
        assert listed == [(each["uri"], each["document"]) for each in told["documents"]]
        (tmp_path / "secret.html").write_text("<p>secret</p>")
        (docs / "ferry.html").unlink()
        (docs / "ferry.html").symlink_to(tmp_path / "secret.html")
        for uri in (ferry["uri"], "rqa://document/nothing", "rqa://document/..%2Fsecret.html"):
            with pytest.raises(MCPError, match="document"):
                await client.read_resource(uri)


def test_the_inspector_of_the_protocol_can_use_the_server(tmp_path: Path, docs: Path) -> None:
    inspector = ["npx", "--no-install", "@modelcontextprotocol/inspector", "--cli"]
    if not shutil.which("npx") or subprocess.run([*inspector, "--help"], capture_output=True).returncode:
        pytest.skip("there is no inspector: npm install -g @modelcontextprotocol/inspector")
    server = [*inspector, *RQA, "mcp", "--docs", str(docs)]
    call = ["--method", "tools/call", "--tool-name", "ask", "--tool-arg", "question=Who was the keeper?"]
    told = subprocess.run([*server, *call], env={**os.environ, **environment(tmp_path)}, capture_output=True, text=True)
    assert json.loads(told.stdout)["structuredContent"]["answer"].endswith("Bo Renn."), told.stderr


def test_the_entry_for_registries_names_this_version_and_command() -> None:
    entry = json.loads(Path(__file__).parents[4].joinpath("server.json").read_text())
    (package,) = entry["packages"]
    assert entry["version"] == package["version"] == __version__ and len(entry["description"]) <= 100
    command, folder = package["packageArguments"]
    assert (package["identifier"], command["value"], folder["name"]) == ("robust-qa", "mcp", "--docs")


async def test_an_answer_is_checked_against_the_documents_or_passages(tmp_path: Path, docs: Path) -> None:
    async with agent(tmp_path, "mcp", "--docs", docs) as client:
        answer = {"answer": "The keeper was Bo Renn. The lighthouse was built in 1817."}
        told = (await client.call_tool("check", answer)).structured_content
        assert [each["verdict"] for each in told["sentences"]] == ["supported", "contradicted"]
        assert told["sentences"][0]["citation"]["quote"] == "The keeper was Bo Renn." and not told["supported"]
        given = (await client.call_tool("check", {**answer, "passages": []})).structured_content
        assert [each["verdict"] for each in given["sentences"]] == ["not decided", "not decided"]


TOOLS = """
from robust_qa import InputError, hookimpl

def tools(session):
    async def greet(name: str) -> dict[str, str]:
        "Greet somebody."
        if not name:
            raise InputError("There is no name.", hint="Give one.")
        return {"greeting": f"Hello {name}"}

    return [greet]

@hookimpl
def rqa_register(registry):
    registry.tools(tools)
"""


async def test_plugins_add_tools_whose_errors_say_why(tmp_path: Path, docs: Path) -> None:
    (tmp_path / "greets.py").write_text(TOOLS)
    async with agent(tmp_path, "--plugin", tmp_path / "greets.py", "mcp", "--docs", docs) as client:
        told = await client.call_tool("greet", {"name": "Ada"})
        assert told.structured_content == {"greeting": "Hello Ada"}
        failed = await client.call_tool("greet", {"name": ""})
        assert failed.is_error and "There is no name. Give one." in failed.content[0].text


async def test_a_call_that_fails_says_why(tmp_path: Path, docs: Path) -> None:
    async with agent(tmp_path, "mcp", "--docs", docs) as client:
        for arguments, words in (
            ({"question": "Who?", "strategy": "nonsense"}, "nonsense"),
            ({"question": "Who?", "strategy": "astute"}, "language model"),
            ({"question": ""}, "question"),
            ({"question": "7 " * 10_001}, "at most 20,000"),
        ):
            failed = await client.call_tool("ask", arguments)
            assert failed.is_error and words in failed.content[0].text
        failed = await client.call_tool("search", {"query": "7 " * 10_001})
        assert failed.is_error and "at most 20,000" in failed.content[0].text
        failed = await client.call_tool("check", {"answer": ""})
        assert failed.is_error and "The answer is empty" in failed.content[0].text


# -- documents


async def test_documents_in_an_open_folder_can_be_named(tmp_path: Path, docs: Path) -> None:
    (docs / "ferry.txt").write_text("The ferry was run by Ada Quill.")
    async with agent(tmp_path, "mcp", "--folder", docs) as client:
        for name in ("ferry.txt", str(docs / "ferry.txt"), "."):
            asked = {"question": "Who ran the ferry?", "documents": [name]}
            result = await client.call_tool("ask", asked)
            assert result.structured_content["answer"] == "Ada Quill", name


async def test_documents_elsewhere_cannot_be_named(tmp_path: Path, docs: Path) -> None:
    secret = tmp_path / "docs-secret"
    secret.mkdir()
    (secret / "secret.txt").write_text("The password is hunter2.")
    (docs / "link.txt").symlink_to(secret / "secret.txt")
    names = ("../docs-secret/secret.txt", str(secret / "secret.txt"), "link.txt", "/etc/passwd", "absent.txt", "a\0b")
    names += ("x" * 300, "x/" * 3000)
    async with agent(tmp_path, "mcp", "--folder", docs) as client:
        for name in names:
            refused = await client.call_tool("ask", {"question": "What is the password?", "documents": [name]})
            assert refused.is_error and "open to agents" in refused.content[0].text, name
        told = await client.call_tool("ask", {"question": "What is the password?", "documents": ["."]})
        assert "hunter2" not in told.content[0].text


async def test_files_that_an_index_skips_cannot_be_named(tmp_path: Path, docs: Path) -> None:
    for name in (".env", ".git/config", "sub/.hidden/notes.txt", "index/rqa-index.json", "index/passages.txt"):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text("The password is hunter2.")
    (docs / "link.txt").symlink_to(docs / ".env")
    names = (".env", str(docs / ".env"), ".git", ".git/config", "sub/.hidden/notes.txt", "index", "index/passages.txt")
    async with agent(tmp_path, "mcp", "--folder", docs) as client:
        for name in (*names, "sub/../.env", "link.txt"):
            refused = await client.call_tool("ask", {"question": "What is the password?", "documents": [name]})
            assert refused.is_error and "open to agents" in refused.content[0].text, name
        for name in ("", "."):
            told = await client.call_tool("ask", {"question": "What is the password?", "documents": [name]})
            assert "hunter2" not in told.content[0].text


# -- the protocol


@contextmanager
def raw(folder: Path, *arguments: object, reader: str = "") -> Iterator[subprocess.Popen[str]]:
    """A server whose pipes the test holds."""
    process = subprocess.Popen(
        [*RQA, *map(str, arguments)],
        env={**os.environ, **environment(folder, reader)},
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def send(process: subprocess.Popen[str], *messages: dict[str, Any]) -> None:
    assert process.stdin
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def replies(process: subprocess.Popen[str], id: int) -> list[dict[str, Any]]:
    """The messages up to the reply to request `id`. Every line is one."""
    assert process.stdout
    found = []
    for line in process.stdout:
        found.append(json.loads(line))
        if found[-1].get("id") == id:
            return found
    raise AssertionError(f"no reply to {id}, only {found}")


HELLO: tuple[dict[str, Any], ...] = (
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
)


def ask(id: int, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "method": "tools/call", "params": {"name": "ask", "arguments": arguments}}


def test_stdout_carries_the_protocol_alone(tmp_path: Path, docs: Path) -> None:
    (tmp_path / "prints.py").write_text(PRINTING)
    with raw(tmp_path, "--plugin", "prints.py", "mcp", "--docs", docs, "-s", "prints") as process:
        send(process, *HELLO, ask(2, question="Who was the keeper?"))
        answer = replies(process, 2)[-1]["result"]
        assert "lighthouse" in answer["structuredContent"]["answer"]
        out, err = process.communicate(timeout=20)  # closes the input
        assert out == "" and process.returncode == 0
        assert "a print" in err and "a write to file descriptor 1" in err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", -32700),
        (
            '{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"x": ' + "[" * 100_000 + "]" * 100_000 + "}}",
            -32700,
        ),
        ('[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]', -32600),
        ('{"jsonrpc": "2.0", "id": 7, "method": 3}', -32600),
    ],
    ids=["half", "deep", "batch", "method"],
)
def test_a_line_that_is_no_message_gets_an_error(tmp_path: Path, docs: Path, line: str, code: int) -> None:
    with raw(tmp_path, "mcp", "--docs", docs) as process:
        send(process, *HELLO)
        assert process.stdin
        process.stdin.write(f"\n{line}\n")
        send(process, {"id": 2, "method": "ping"})
        told = [message for message in replies(process, 2) if "error" in message]
        assert [(message["id"], message["error"]["code"]) for message in told] == [(None, code)]


def test_half_an_emoji_in_a_question_is_a_replacement_character(tmp_path: Path, docs: Path) -> None:
    with raw(tmp_path, "mcp", "--docs", docs) as process:
        send(process, *HELLO, ask(2, question="Who was the keeper? \ud83d"))
        assert replies(process, 2)[-1]["result"]["structuredContent"]["answer"].endswith("Bo Renn.")


@pytest.mark.parametrize("leaves", ["closes", "cancels"])
def test_a_client_that_leaves_cancels_its_calls(tmp_path: Path, docs: Path, leaves: str) -> None:
    with (
        serve(lambda request, number: HANG) as model,
        raw(tmp_path, "mcp", "--docs", docs, "-s", "norag", reader=model.url) as process,
    ):
        send(process, *HELLO, ask(2, question="Who?"))
        until(lambda: model.count == 1)
        if leaves == "closes":
            assert process.stdin
            process.stdin.close()
            assert process.wait(20) == 0
        else:
            send(process, {"method": "notifications/cancelled", "params": {"requestId": 2}})
        until(lambda: model.requests[0].ended > 0)


def test_a_signal_ends_the_server_while_it_waits_for_input(tmp_path: Path, docs: Path) -> None:
    with raw(tmp_path, "mcp", "--docs", docs) as process:
        send(process, *HELLO)
        replies(process, 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


# -- HTTP


async def test_http_has_the_same_tools(tmp_path: Path, docs: Path) -> None:
    with serving(tmp_path, "--docs", docs, command=HTTP) as server:
        async with Client(server.url, read_timeout_seconds=30) as client:
            result = await client.call_tool("ask", {"question": "Who was the keeper?"})
            assert result.structured_content["answer"].endswith("Bo Renn.")
            (citation, *_) = result.structured_content["citations"]
            assert "Bo Renn" in (await client.read_resource(citation["uri"])).contents[0].text
        assert await asyncio.to_thread(server.stop) == 0


def test_http_lets_in_this_machine_or_the_token_alone(tmp_path: Path, docs: Path) -> None:
    body = json.dumps({"jsonrpc": "2.0", **HELLO[0]})
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def status(url: str, **more: str) -> int:
        return httpx.post(url, content=body, headers={**headers, **more}, trust_env=False).status_code

    with serving(tmp_path, "--docs", docs, command=HTTP) as server:
        assert (status(server.url), status(server.url, Host="evil.example")) == (200, 403)
        assert status(server.url, Origin="http://evil.example") == 403
    token = {"RQA_KEY_DOOR": "open-sesame"}
    given = ("--docs", docs, "--host", "0.0.0.0", "--token", "door")
    with serving(tmp_path, *given, command=HTTP, **token) as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        assert (status(url), status(url, Authorization="Bearer open-sesame", Host="rqa.example")) == (401, 200)


def test_an_http_client_that_sends_no_whole_request_in_time_is_disconnected(tmp_path: Path, docs: Path) -> None:
    with serving(tmp_path, "--docs", docs, command=HTTP) as server:
        address = httpx.URL(server.url)
        with socket.create_connection((address.host, address.port or 0), timeout=20) as connection:
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n")
            assert connection.recv(1) == b""
