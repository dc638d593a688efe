"""Requests to the pages of one endpoint, in the dialect that it understands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from robust_qa import ConfigError, Key, RefusedError, RqaError

from .dialect import Dialect, encode, is_about
from .refusals import error_for, refusal_in
from .replies import Endpoint, Reply
from .streams import Stream

_SHORTEST_KEY = 8  # characters; shorter words in a header are not treated as secrets


class Client:
    """Sends requests with `model` and the fields of `body` to `pages` of the endpoint at `url`.

    Each request is one attempt, except while the dialect is being learnt. Raises MissingError if the key is not
    stored, ConfigError if it is bound to another host.
    """

    def __init__(
        self,
        model: str,
        url: str,
        key: Key | None,
        *pages: str,
        key_header: str = "Authorization",
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        from .connections import Connections

        parts = urlsplit(url)
        path = parts.path.rstrip("/")
        for page in pages:
            path = path.removesuffix(page)
        self.dialect = dialect or Dialect("none", "max_tokens")
        self._body = body or {}
        self._blameless: set[bytes] = set()  # schemas that worked, or without which requests failed, too
        secret = _secret(key, url) if key else ""
        bearer = key_header.lower() == "authorization"
        further = headers or {}
        sent = [{key_header: f"Bearer {secret}" if bearer else secret} if secret else {}, further]
        self.headers = sent
        self.endpoint = Endpoint(
            model=model,
            address=urlunsplit((parts.scheme, parts.netloc, path, "", "")),
            key=key.name if key else None,
            secrets=[*([secret] if secret else []), *_possible_keys(further)],
        )
        self._base = parts._replace(path=path, fragment="")
        self._pages = {page: Connections(self.url(page), sent, self.endpoint) for page in pages}

    def url(self, page: str) -> str:
        """Return the address of a page, such as "/chat/completions"."""
        return urlunsplit(self._base._replace(path=self._base.path + page))

    def body(self, build: Callable[[Dialect], dict[str, Any]], dialect: Dialect) -> dict[str, Any]:
        """Return a request in `dialect`."""
        return {"model": self.endpoint.model, **build(dialect), **self._body}

    async def request(
        self,
        page: str,
        build: Callable[[Dialect], dict[str, Any]],
        on_text: Callable[[str], None] | None = None,
    ) -> tuple[Reply, Dialect]:
        """Return the reply and the dialect that worked, and keep that dialect for the session.

        `on_text` gets the pieces of a streamed reply. The request is sent again, in simpler dialects, if the endpoint
        rejects fields of it. The dialect of the session changes only after a success: an error message may quote a
        passage that mentions a field.
        """
        before = dialect = self.dialect
        first: RqaError | None = None  # the error before the first guess
        tried: set[bytes] = set()
        while True:
            request = self.body(build, dialect)
            tried.add(schema := encode(request.get("response_format")))
            reply = await self._pages[page].post(encode(request), Stream(self.endpoint, on_text))
            refusal = refusal_in(reply)
            if refusal is None:
                break
            if simpler := dialect.after(refusal, request):
                dialect = simpler
                continue
            error = error_for(refusal, reply, self.endpoint, page, final=is_about(request, refusal))
            guess = dialect.guess(refusal, request, schema_works=schema in self._blameless)
            if guess is None:
                if first:
                    self._blameless |= tried
                raise first if first and isinstance(error, RefusedError) else error
            first, dialect = first or error, guess
        self._blameless.add(schema)
        if self.dialect == before:  # the first of several concurrent calls to finish changes the session
            self.dialect = dialect
        return reply, dialect

    async def close(self) -> None:
        """Close every connection. Calls in flight fail."""
        for connections in self._pages.values():
            await connections.close()


def fits_header(text: str) -> bool:
    """Whether HTTP allows `text` as the value of a header."""
    return text.isascii() and text.isprintable() and text == text.strip()


def _possible_keys(headers: Mapping[str, str]) -> list[str]:
    """Return the words of `headers` that may be keys. Error messages never show them."""
    return [word for value in headers.values() for word in value.split() if len(word) >= _SHORTEST_KEY]


def _secret(key: Key, url: str) -> str:
    secret = key.reveal(url)
    if not fits_header(secret):
        parts = urlsplit(url)
        server = f"{parts.scheme}://{parts.netloc}"
        # The HTTP library's own message would quote the secret.
        raise ConfigError(
            f"The key {key.name!r} contains characters that HTTP headers do not allow.",
            hint=f"Store it again with `rqa keys set {key.name} --host {server}`.",
        )
    return secret
