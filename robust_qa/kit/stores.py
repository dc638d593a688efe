"""For retrievers that search a server: requests in JSON, and passages from the documents that it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from ..config.keys import Key, is_loopback, origin
from ..errors import ConfigError, ReplyError, RqaError
from ..sanitize import single_line
from ..types import Passage
from .dates import iso_date
from .http import read_body
from .refusals import Refusal, httpx_errors
from .warnings import warn

if TYPE_CHECKING:
    import httpx  # slow to import, and only plugins need it

T = TypeVar("T")

_CONNECT_SECONDS = 10.0  # the host limits the whole call
_LONGEST_REPLY = 32 << 20  # bytes
_EXCERPT = 300  # characters of a server's message in errors


@dataclass(frozen=True, slots=True)
class JsonReply:
    """A reply of a server: its status, headers and body. `server` names the server in errors."""

    server: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The decoded body, None if it is not JSON."""
        import msgspec

        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def decoded(self, kind: type[T]) -> T:
        """Return the body as an instance of `kind`. Raises ReplyError if it is something else."""
        import msgspec

        try:
            return msgspec.json.decode(self.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ReplyError(
                f"{self.server} did not return search results: {error}.",
                hint="Check `url`. The address may lead to another service or a login page.",
            ) from error


class JsonServer:
    """Posts JSON to the server at `url`. Each call is one attempt; redirects are not followed.

    `authorisation` returns the request headers that carry the secret of `key`. Raises MissingError if the key is not
    stored, ConfigError if it is bound to another server.
    """

    def __init__(
        self, product: str, url: str, key: Key | None, authorisation: Callable[[str], Mapping[str, str]]
    ) -> None:
        self.name = f"{product} at {urlsplit(url).netloc}"
        self._url, self._key, self._authorisation = url.rstrip("/"), key, authorisation
        self._headers()  # raises now, not at the first question
        self._local = is_loopback(urlsplit(url).hostname or "")
        self._client = _client(self.name, local=self._local)

    async def post(self, path: str, body: Any) -> JsonReply:
        """Return the reply, whatever its status.

        Raises CallTimeout or UnavailableError if there is no reply, CallError if no server runs on this machine,
        ReplyError if the reply is too long.
        """
        import msgspec

        request = self._client.stream(
            "POST", f"{self._url}/{path}", content=msgspec.json.encode(body), headers=self._headers()
        )
        hint = "Check that the server is running and that `url` is right, with https if the server uses TLS."
        with httpx_errors(self.name, _CONNECT_SECONDS, local=self._local, hint=hint):
            async with request as response:
                content = await read_body(response, _LONGEST_REPLY, server=self.name)
        return JsonReply(self.name, response.status_code, response.headers, content)

    def refusal(self, reply: JsonReply, message: str, *, hint: str = "", general: bool = False) -> RqaError:
        """Return the error for a reply that is not 200. `message` is the server's own, or "" for the whole body."""
        text = single_line((message or reply.body.decode("utf-8", "replace"))[:10_000])
        if self._key:
            text = text.replace(self._key.reveal(self._url), "***")
        failed = f"{self.name} returned status {reply.status}: {text[:_EXCERPT] or 'no message'}"
        hints = {300: "The server redirects. Set `url` to its final address.", 401: hint or self._key_hint()}
        refusal = Refusal(reply.status, text, headers=reply.headers)
        return refusal.error(failed, hint=hint, hints=hints, general=general)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _headers(self) -> Mapping[str, str]:
        if self._key is None:
            return {}
        headers = self._authorisation(self._key.reveal(self._url))
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise ConfigError(  # the message of httpx would quote the secret
                f"The key {self._key.name!r} contains characters that HTTP headers do not allow.",
                hint=f"Store it again: {self._store(self._key.name)}.",
            )
        return headers

    def _key_hint(self) -> str:
        if self._key:
            return (
                f"Check that the key {self._key.name!r} is right and may read here. "
                f"Replace it with {self._store(self._key.name)}."
            )
        return f'rqa sent no key. Store one with {self._store("NAME")} and set `key = "NAME"`.'

    def _store(self, name: str) -> str:
        return f"`rqa keys set {name} --host {origin(self._url)}`"


def _client(server: str, *, local: bool) -> httpx.AsyncClient:
    import httpx

    try:
        return httpx.AsyncClient(
            headers={
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
                "User-Agent": "robust-qa",
            },
            timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
            mounts={"http://": None, "https://": None} if local else None,  # no proxy to this machine
        )
    except (httpx.InvalidURL, ValueError, OSError, ImportError) as error:
        raise ConfigError(
            f"Cannot search {server}: a proxy or certificate setting in the environment is wrong: {error}",
            hint="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR.",
        ) from error


@dataclass
class DocumentFields:
    """Options that name the fields of a server's documents. `meta.title` is the field `title` in the object `meta`."""

    text: str = "text"  # field with the text of a passage
    title: str = "title"  # field with its title
    id: str | None = None  # field with an id that no other passage has; default: the server's own id
    source: str = "source"  # field with its path or URL; default: the server's own id
    date: str = "date"  # field with its date, in ISO form

    @property
    def document_fields(self) -> list[str]:
        """The names of all fields that passages are made from."""
        return [name for name in (self.text, self.title, self.id, self.source, self.date) if name]

    def passages(self, found: Iterable[tuple[str, float, Mapping[str, Any]]], server: str) -> list[Passage]:
        """Return the passages in documents, each given as its own id, its score and its fields.

        Leaves out documents without text, with a warning. Raises ConfigError if all are without text.
        """
        every = [self._passage(*document) for document in found]
        passages = [passage for passage in every if passage.text.strip()]
        if every and not passages:
            raise ConfigError(
                f"None of the {len(every)} documents that {server} found has text in the field {self.text!r}.",
                hint="Set the option `text` to the field with the text.",
                general=True,
            )
        if lacking := len(every) - len(passages):
            warn(f"{lacking} of {len(every)} documents have no text in the field {self.text!r}", lasting=True)
        return passages

    def _passage(self, own_id: str, score: float, document: Mapping[str, Any]) -> Passage:
        text, title, id, source, date = (
            _text(_value(document, name)) if name else ""
            for name in (self.text, self.title, self.id, self.source, self.date)
        )
        return Passage(text, id or own_id, title, source or own_id, score, date=iso_date(date))


def _value(document: Any, name: str) -> Any:
    """Return a field of `document`, None if it is missing. A dot is part of the name, or leads into an object."""
    if not isinstance(document, Mapping):
        return None
    if name in document:
        return document[name]
    outer, _, inner = name.partition(".")
    return _value(document.get(outer), inner) if inner else None


def _text(value: Any) -> str:
    """Return a field as text. The texts of a list become paragraphs."""
    if isinstance(value, list):
        return "\n\n".join(filter(None, map(_text, value)))
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
