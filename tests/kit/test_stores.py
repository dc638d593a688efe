"""Ask a server in JSON, and make passages of its documents. The tests of `opensearch` and `qdrant` have the errors."""

from __future__ import annotations

import gzip
import json
import shutil
import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from standins.openai import Fault, Request
from standins.web import serve

from robust_qa import CallError, ConfigError, Key, Passage
from robust_qa.kit import DocumentFields, JsonReply, JsonServer


def bearer(secret: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def post(url: str, body: Any = None, key: Key | None = None) -> JsonReply:
    server = JsonServer("Store", url, key, bearer)
    try:
        return await server.post("search", body)
    finally:
        await server.close()


def echo(request: Request) -> Fault:
    return Fault(
        body=gzip.compress(json.dumps({"body": request.body, **request.headers}).encode()),
        headers={"Content-Encoding": "gzip"},
    )


async def test_json_goes_out_with_the_key_and_comes_back() -> None:
    with serve({"/v2/search": echo}) as web:
        reply = await post(f"{web.url}/v2/", {"query": "Œuf\x00"}, Key("store", "s3cr3t"))
    assert reply.status == 200 and reply.json["body"] == {"query": "Œuf\x00"}
    assert reply.json["authorization"] == "Bearer s3cr3t" and reply.json["content-type"] == "application/json"


async def test_redirects_are_not_followed() -> None:
    with serve() as other, serve({"/search": Fault(302, headers={"Location": f"{other.url}/search"})}) as web:
        assert (await post(web.url, {}, Key("store", "s3cr3t"))).status == 302
    assert other.requests == []


async def test_a_server_on_this_machine_is_asked_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with serve({"/search": echo}) as web:
        assert (await post(web.url)).status == 200


async def test_a_private_certificate_has_to_be_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    asked = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run([openssl, *asked.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    with serve({"/search": echo}, tls=tls) as web:
        url = f"https://localhost:{web.url.rpartition(':')[2]}"
        with pytest.raises(CallError, match="CERTIFICATE_VERIFY_FAILED") as caught:
            await post(url)
        assert "SSL_CERT_FILE" in caught.value.hint
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert (await post(url)).status == 200


# -- passages


Found = tuple[str, float, Mapping[str, Any]]


def passages(*found: Found, **fields: str) -> list[Passage]:
    return DocumentFields(**fields).passages(found, "Store")


@pytest.mark.parametrize(
    ("value", "text"),
    [("Moles", "Moles"), (["Moles", None, "dig"], "Moles\n\ndig"), (7, "7"), (True, ""), ({"a": "b"}, ""), (None, "")],
)
def test_a_field_is_text_or_number_or_a_list_of_these(value: Any, text: str) -> None:
    [passage] = passages(("1", 0.0, {"text": "x", "title": value}))
    assert passage.title == text


def test_documents_that_all_lack_text_are_an_error() -> None:
    assert passages() == []
    with pytest.raises(ConfigError, match="None of the 2 documents that Store found has text in the field 'text'"):
        passages(("1", 0.0, {"text": " "}), ("2", 0.0, {}))
