"""Formats `mail` and `mailbox`: messages, mailboxes and saved web pages (MHTML), with their attachments."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage, MIMEPart
from email.utils import parsedate_to_datetime

from robust_qa import Registry, hookimpl
from rqa_files import Block, Blocks, Document, File, Report, Unreadable, read_file, read_html, read_plain, unlined

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_MESSAGE = re.compile(rb"^From .*\n", re.M)  # the line between the messages of a mailbox
_HEADER = re.compile(
    r"(?:(?:From|To|Subject|Date|Message-ID|MIME-Version|Received|Return-Path): .+\n(?:[ \t].+\n)*){3}", re.I
)
_EARLIER = re.compile(r"^-{3,} ?(?:Original Message|Ursprüngliche Nachricht) ?-{3,}\n.*", re.M | re.S | re.I)


def is_mail(file: File) -> bool:
    """Return whether a text begins with the headers of a message."""
    return _HEADER.match(file.beginning) is not None


def read_mail(file: File, report: Report) -> Iterator[Document]:
    """Yield the documents of a message: its headers and text, then its attachments."""
    with file.open() as stream:
        yield from _message(stream.read(), file, report)


def read_mailbox(file: File, report: Report) -> Iterator[Document]:
    """Yield the documents of each message of a mailbox."""
    with file.open() as stream:
        content = b"\n" + stream.read()
    messages = _MESSAGE.split(content.replace(b"\r\n", b"\n"))[1:]
    for number, message in enumerate(messages, start=1):
        yield from _message(message, file, report, f"message {number}")


def _message(content: bytes, file: File, report: Report, place: str = "") -> Iterator[Document]:
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    title = str(message["Subject"] or "")
    blocks = Blocks()
    body = message.get_body(("plain", "html"))
    payload = body.get_payload(decode=True) if body else b""
    assert isinstance(payload, bytes)
    line = payload in content and content.count(b"\n", 0, content.find(payload)) + 1  # 0 if it is encoded
    if message["Message-ID"] or message["To"]:  # a saved page has none
        headers = [str(message[name] or "").replace(";", ",") for name in _HEADERS]
        blocks.row(_HEADERS, headers, min(line, 1))
    if body:
        named, found = _text(body, payload, line, file)
        title = title or named
        blocks.extend(found)
    part = place.replace(" ", "=")
    yield file.document(title, blocks.found, _date(message), part, place)
    for each in message.iter_attachments() if message.is_multipart() else ():
        name = each.get_filename() or ""
        if each is body or each.get_content_maintype() == "image" or not name:
            continue
        shown = f"{place}, {name}" if place else name
        try:
            payload = each.get_payload(decode=True)
            inner = File(
                file.path,
                file.limit,
                formats=file.formats,
                inside=name,
                content=payload if isinstance(payload, bytes) else b"",
            )
            for document in read_file(inner, report):
                yield _attached(document, part, shown, name)
        except Unreadable as error:
            report(str(file.path), f"read without its attachment {name}: {error}")


def _attached(document: Document, part: str, shown: str, name: str) -> Document:
    place = f"{shown}, {document.place}" if document.place else shown
    id = f"{document.source}#{part}{'&' if part else ''}{name}{document.id.removeprefix(document.source)}"
    return replace(document, id=id, place=place)


def _text(body: MIMEPart, payload: bytes, line: int, file: File) -> tuple[str, list[Block]]:
    text = file.text(payload, body.get_content_charset() or "")
    earlier = _EARLIER.search(text)  # the message that this one answers, which others mark with ">"
    if earlier and body.get_content_subtype() != "html":
        text = text[: earlier.start()] + re.sub(r"^(?=.)", "> ", earlier[0], flags=re.M)
    read = read_html if body.get_content_subtype() == "html" else read_plain
    title, blocks = read(text, line)
    return title, blocks if line else unlined(blocks)


def _date(message: EmailMessage) -> str:
    try:
        return parsedate_to_datetime(str(message["Date"])).date().isoformat()
    except (TypeError, ValueError):
        return ""


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.format("mailbox", read="rqa_mail:read_mailbox", suffixes="mbox")
    registry.format("mail", read="rqa_mail:read_mail", suffixes="eml|mht|mhtml")
    registry.format("message", read="rqa_mail:read_mail", opens="rqa_mail:is_mail")
