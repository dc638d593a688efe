"""Certificates of servers on loopback."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


def certificate(folder: Path, *hosts: str) -> tuple[Path, ssl.SSLContext]:
    """The file of a new certificate for these hosts, and a TLS context of a server that has it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    key, file = folder / "key.pem", folder / "certificate.pem"
    names = ",".join(f"DNS:{host}" for host in hosts)
    made = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName={names}"
    subprocess.run([openssl, *made.split(), "-keyout", key, "-out", file], check=True, capture_output=True)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(file, key)
    return file, tls
