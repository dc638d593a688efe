"""Errors as OpenAI's API writes them."""

from __future__ import annotations

from typing import Any

from robust_qa import CallError, CallTimeout, InputError, RqaError

_STATUS: tuple[tuple[type[RqaError], int], ...] = ((InputError, 400), (CallTimeout, 504), (CallError, 502))


class ApiError(Exception):
    """An error with its HTTP status. `kind`, `code` and `param`, a field of the request, go into the body."""

    def __init__(
        self,
        status: int,
        message: str,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def api_error(error: RqaError) -> ApiError:
    """Return `error` for the client: 400 if the request is invalid, 502 or 504 if a model failed, else 500."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return ApiError(status, f"{error.message} {error.hint}".strip(), error.kind)
