"""Reader and embedder `llm`: any model that the program llm (https://llm.datasette.io) and its plugins know by name.

[reader.haiku]
plugin = "llm"
model = "claude-haiku-4.5"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from robust_qa import (
    Completion,
    ConfigError,
    Decoding,
    Message,
    MissingError,
    Registry,
    Trusted,
    UnavailableError,
    Usage,
    hookimpl,
)
from robust_qa.kit import install_hint


class Llm:
    """A language model of llm. Keys are those that `llm keys set` stored."""

    @dataclass
    class Options:
        model: Trusted  # name or alias, as `llm models` lists them
        options: dict[str, Any] = field(default_factory=dict)  # of the model, such as its temperature

    def __init__(self, options: Options) -> None:
        """Raises MissingError if llm is not installed, ConfigError if it does not know the model."""
        self._model = _known("get_model", options.model, "llm models")
        self._options = options.options
        self.structured = bool(self._model.supports_schema)

    def generate(self, messages: Sequence[Message], decoding: Decoding) -> Completion:
        """Return the model's reply. Raises UnavailableError with llm's message if the call fails."""
        import llm

        asked = {"temperature": decoding.temperature, "max_tokens": decoding.max_tokens, "seed": decoding.seed}
        fields = self._model.Options.model_fields
        options = {name: value for name, value in asked.items() if value is not None and name in fields}
        try:
            response = self._model.prompt(
                "\n\n".join(message.content for message in messages if message.role != "system"),
                system="\n\n".join(message.content for message in messages if message.role == "system") or None,
                schema=decoding.schema and dict(decoding.schema) if self.structured else None,
                stream=False,
                **{**options, **self._options},
            )
            text, used = response.text(), response.usage()
        except llm.NeedsKeyException as error:
            raise MissingError(f"{error}", hint="Store the key with `llm keys set NAME`.") from error
        except Exception as error:  # each plugin of llm raises the errors of its own library
            raise UnavailableError(f"The model {self._model.model_id} of llm failed: {error}") from error
        for mark in decoding.stop:  # llm has no option for it
            text = text.partition(mark)[0]
        return Completion(text, Usage(1, used.input or 0, used.output or 0))


class LlmEmbedder:
    """An embedding model of llm."""

    @dataclass
    class Options:
        model: Trusted  # name or alias, as `llm embed-models` lists them

    def __init__(self, options: Options) -> None:
        """Raises MissingError if llm is not installed, ConfigError if it does not know the model."""
        self._model = _known("get_embedding_model", options.model, "llm embed-models")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vector of each text. Raises UnavailableError with llm's message if the call fails."""
        try:
            return list(self._model.embed_multi(texts))
        except Exception as error:  # as above
            raise UnavailableError(f"The model {self._model.model_id} of llm failed: {error}") from error


def _known(get: str, name: str, command: str) -> Any:
    try:
        import llm
    except ImportError as error:
        raise MissingError("The program llm is not installed.", hint=f"Install it: `{install_hint('llm')}`.") from error
    try:
        return getattr(llm, get)(name)
    except llm.UnknownModelError as error:
        raise ConfigError(f"llm knows no model {name!r}.", hint=f"`{command}` lists those that it knows.") from error


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.reader("llm", "rqa_llm:Llm", summary="any model that the program llm knows by name")
    registry.embedder("llm", "rqa_llm:LlmEmbedder", summary="any embedding model that the program llm knows")
