"""Connections: reuse, errors, proxies and cancellation."""

from __future__ import annotations

import asyncio
import socket
from base64 import b64encode
from contextlib import closing

import pytest
from standins.certificates import certificate
from standins.openai import HANG, RESET, TRUNCATED, Fault, serve
from standins.proxy import tunnel

from robust_qa import CallError, ConfigError, Decoding, Message, RefusedError, UnavailableError

ASKED = [Message("user", "Where is the Louvre?")]


async def test_concurrent_calls_run_concurrently_and_their_connections_are_reused(connect):
    with serve(lambda request, n: "Paris.", latency=0.05) as server:
        reader = connect(server.url)
        for _ in range(2):
            await asyncio.gather(*(reader.generate(ASKED, Decoding()) for _ in range(64)))
        assert (server.count, server.peak, server.connections) == (128, 64, 64)


@pytest.mark.parametrize(
    ("port", "command"),
    [
        (11434, "`ollama serve`"),
        (0, "server, or"),
    ],
)
async def test_a_server_on_this_machine_that_does_not_run_is_not_asked_again(connect, port, command):
    with closing(socket.socket()) as free:
        try:
            free.bind(("127.0.0.1", port))  # without listening
        except OSError:
            pytest.skip(f"port {port} is in use")
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(CallError, match="No connection to 'qwen' at http://127") as raised:
            await connect(url).generate(ASKED, Decoding())
    assert not raised.value.retryable and raised.value.general
    assert "Start the server" in raised.value.hint and command in raised.value.hint


@pytest.mark.parametrize("fault", [RESET, TRUNCATED], ids=["reset", "truncated"])
async def test_a_broken_connection_is_unavailable_and_the_next_call_gets_a_new_one(connect, fault):
    with serve(lambda request, n: fault if n == 0 else "Paris.") as server:
        reader = connect(server.url)
        with pytest.raises(UnavailableError, match="Lost the connection") as raised:
            await reader.generate(ASKED, Decoding())
        assert raised.value.retryable
        assert (await reader.generate(ASKED, Decoding())).text == "Paris."


@pytest.mark.parametrize("fault", [HANG, Fault(body="{}" * 100, pause=0.05)], ids=["hang", "trickle"])
async def test_the_reader_works_after_a_cancelled_call(connect, fault):
    with serve(lambda request, n: fault if n == 0 else "Paris.") as server:
        reader = connect(server.url)
        asking = asyncio.create_task(reader.generate(ASKED, Decoding()))
        while not server.requests:  # what was given up before it arrived would leave the fault to the next call
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await reader.generate(ASKED, Decoding())).text == "Paris."


async def test_the_environments_proxy_is_used(connect, monkeypatch):
    with serve(lambda request, n: "Paris.") as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        with pytest.raises(RefusedError):  # the stand-in forwards nothing
            await connect("http://models.invalid/v1").generate(ASKED, Decoding())
    assert proxy.requests[0].path == "http://models.invalid/v1/chat/completions"


async def test_no_proxy_is_used_for_a_server_on_this_machine(connect, monkeypatch):
    with serve(lambda request, n: "Lyon.") as proxy, serve(lambda request, n: "Paris.") as server:
        for name in ("HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        for host in ("127.0.0.1", "localhost"):
            reader = connect(server.url.replace("127.0.0.1", host))
            assert (await reader.generate(ASKED, Decoding())).text == "Paris."
    assert (proxy.count, server.count) == (0, 2)


@pytest.mark.parametrize(
    "proxy",
    [
        "gopher://user:password@proxy.invalid",
        "socks5://user:password@proxy.invalid",
    ],
)
async def test_an_invalid_proxy_is_a_configuration_error(connect, monkeypatch, proxy):
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(ConfigError, match="proxy") as raised:
        await connect("http://models.invalid/v1").generate(ASKED, Decoding())
    assert "password" not in raised.value.message
    assert "HTTP_PROXY" in raised.value.hint


@pytest.fixture
def certified(tmp_path):
    return certificate(tmp_path, "localhost", "models.invalid")


async def test_the_environments_certificates_are_trusted_and_tls_connections_are_reused(
    connect, certified, monkeypatch
):
    file, tls = certified
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with serve(lambda request, n: "Paris.", tls=tls) as server:
        reader = connect(server.url.replace("http://127.0.0.1", "https://localhost"))
        for _ in range(2):
            assert (await reader.generate(ASKED, Decoding())).text == "Paris."
        await reader.close()
        assert server.connections == 1


async def test_an_unknown_certificate_is_not_trusted(connect, certified):
    _, tls = certified
    with serve(lambda request, n: "Paris.", tls=tls) as server:
        reader = connect(server.url.replace("http://127.0.0.1", "https://localhost"))
        with pytest.raises(CallError, match=r"No connection to .* certificate") as raised:
            await reader.generate(ASKED, Decoding())
    assert "SSL_CERT_FILE" in raised.value.hint and not raised.value.retryable
    assert server.count == 0


async def test_https_to_a_server_that_speaks_http_is_said_and_not_tried_again(connect):
    async def refuse(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1") as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(CallError, match="No connection") as raised:
            await connect(url).generate(ASKED, Decoding())
    assert "speaks http: write http://" in raised.value.hint
    assert not raised.value.retryable


async def test_a_missing_certificate_file_is_a_configuration_error(connect, monkeypatch, tmp_path):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    with pytest.raises(ConfigError, match="certificate setting") as raised:
        await connect("https://models.invalid/v1").generate(ASKED, Decoding())
    assert "SSL_CERT_FILE" in raised.value.hint


async def test_a_tls_endpoint_is_called_through_a_tunnel_of_the_proxy(connect, certified, monkeypatch):
    file, tls = certified
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with (
        serve(lambda request, n: "Paris.", tls=tls) as server,
        tunnel(int(server.url.split(":")[2].removesuffix("/v1"))) as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("://", "://user:password@"))
        reader = connect("https://models.invalid/v1")
        for _ in range(2):
            assert (await reader.generate(ASKED, Decoding())).text == "Paris."
        await reader.close()
    (head,) = proxy.heads
    assert head.startswith("CONNECT models.invalid:443 ")
    assert f"Proxy-Authorization: Basic {b64encode(b'user:password').decode()}" in head
    assert "proxy-authorization" not in server.requests[0].headers


async def test_a_proxy_that_refuses_a_tunnel_is_unavailable_and_its_password_is_not_shown(connect, monkeypatch):
    with tunnel(0, refusal="407 Proxy Authentication Required") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("://", "://user:password@"))
        with pytest.raises(UnavailableError, match="407: Proxy Authentication Required") as raised:
            await connect("https://models.invalid/v1").generate(ASKED, Decoding())
    assert "password" not in str(raised.value)
