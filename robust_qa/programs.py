"""The door for programs: sessions and single questions, without a command line.

    answer = robust_qa.ask("When was the lighthouse built?", docs="examples/harbour")

    async with robust_qa.open_session(docs="handbook/", strategy="astute") as session:
        async for answer in session.answer_many(questions):
            ...

Keyword arguments have the names of the configuration. No configuration file is read, unless `config` asks for it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, TypeVar, Unpack

from .types import ANSWERING_KINDS, Answer, Passage, Question

if TYPE_CHECKING:
    from .answering.session import Session

T = TypeVar("T")
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
Component = str | Mapping[str, Any]


class How(TypedDict, total=False):
    """The arguments of `open_session`, which documents them."""

    docs: Paths
    strategy: Component | None
    retriever: Component | None
    reader: Component | None
    evaluator: Component | None
    embedder: Component | None
    k: int | None
    settings: Mapping[str, Any] | None
    config: Literal["auto"] | str | os.PathLike[str] | None
    plugins: Paths
    detailed: bool


def ask(
    question: str | Question,
    *,
    passages: Sequence[str | Passage] | None = None,
    **how: Unpack[How],
) -> Answer:
    """Answer one question. Works in a notebook, too, where an event loop runs already.

    `passages`: answer from these. `how`: the arguments of `open_session`. To ask more than once, open a session, which
    loads models and indexes only once.

    Raises RqaError if there can be no answer. An abstention is an Answer without `text`.
    """
    if passages is not None:
        own = tuple(Passage(each) if isinstance(each, str) else each for each in passages)
        question = Question(question if isinstance(question, str) else question.text, passages=own)
    with BlockingSession(**how) as session:
        return session.answer(question)


@asynccontextmanager
async def open_session(**how: Unpack[How]) -> AsyncIterator[Session]:
    """Open a session, which answers questions until the end of the block.

    - `docs`: files and folders to answer from. They are indexed first, or only what changed since the last time.
    - `strategy`, `retriever`, `reader`, `evaluator`, `embedder`: a name, or a table of options as in the configuration,
      such as `{"plugin": "openai", "base_url": url, "model": name}`. A retriever may be an expression.
    - `k`: passages to retrieve for a question.
    - `settings`: further tables, as in a configuration file: `{"cache": {"enabled": False}}`.
    - `config`: a configuration file, or "auto" for those that the command line reads. Other arguments override it.
    - `plugins`: Python files of plugins.
    - `detailed`: keep every step in `Answer.trace`.

    Warns about components that do not close within 30 seconds.
    Raises ConfigError if an argument is wrong, MissingError if documents or a model are missing.
    """
    import asyncio
    import warnings

    session = await asyncio.to_thread(_open, how)
    async with session:
        yield session
    for text in session.unclosed:
        warnings.warn(text, RuntimeWarning, stacklevel=3)


class BlockingSession:
    """`open_session` for programs without an event loop. Use it as a context manager, or call `close`.

    It runs the session in a thread of its own, so it also works in a notebook. Several threads may use it.
    """

    def __init__(self, **how: Unpack[How]) -> None:
        import asyncio
        import threading

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="robust_qa", daemon=True)
        self._thread.start()
        self._opened = open_session(**how)
        try:
            self._session = self._wait(self._opened.__aenter__())
        except BaseException:  # also Ctrl-C: leave no thread behind
            self._stop()
            raise

    def answer(self, question: str | Question, *, strategy: str | None = None) -> Answer:
        """Answer one question. Raises RqaError if there can be no answer."""
        return self._wait(self._session.answer(question, strategy=strategy))

    def answer_many(
        self, questions: Iterable[str | Question], *, strategy: str | None = None, jobs: int = 8
    ) -> Iterator[Answer]:
        """Yield the answers in the order of the questions, `jobs` of which are in flight at once."""
        answers = self._session.answer_many(questions, strategy=strategy, jobs=jobs)
        try:
            while True:
                try:
                    yield self._wait(anext(answers))
                except StopAsyncIteration:
                    return
        finally:
            self._wait(answers.aclose())

    def close(self) -> None:
        """Close the session and its components."""
        if self._thread.is_alive():
            try:
                self._wait(self._opened.__aexit__(None, None, None))
            finally:
                self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self, work: Awaitable[T]) -> T:
        import asyncio

        async def awaited() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _open(how: How) -> Session:
    from .answering import opening
    from .config import layers
    from .config.values import Layer
    from .errors import did_you_mean
    from .host.loading import Host

    if unknown := [name for name in how if name not in How.__annotations__]:
        raise TypeError(f"There is no argument {unknown[0]!r}. {did_you_mean(unknown[0], How.__annotations__)}".strip())
    plugins, found, config = _paths(how.get("plugins", ())), list[Layer](), how.get("config")
    if config is not None:
        loaded = layers.load(file=None if config == "auto" else Path(config))
        plugins = [*loaded.plugin_files()[0], *plugins]
        found = list(loaded.layers)
    configuration = layers.Config([Layer("the program", _tree(how)), *found])
    host = Host(files=plugins)
    configuration.check_tables(host.tables)
    return opening.new_session(
        configuration,
        host,
        docs=_paths(how.get("docs", ())),
        named=how.get("retriever") is not None,
        detailed=how.get("detailed", True),
    )


def _tree(how: How) -> dict[str, Any]:
    """Return the arguments in the shape of a configuration file. A table gets its plugin's name."""
    from .errors import ConfigError

    settings, k = how.get("settings") or {}, how.get("k")
    tree = {name: dict(table) if isinstance(table, Mapping) else table for name, table in settings.items()}
    defaults = {**tree.get("defaults", {}), **({} if k is None else {"k": k})}
    components = {kind: how.get(kind) for kind in ANSWERING_KINDS}
    for kind, component in components.items():
        if isinstance(component, Mapping):
            name = component.get("plugin")
            if not isinstance(name, str):
                raise ConfigError(f"`{kind}` has no plugin.", hint=f'Write {kind}={{"plugin": NAME, ...}}.')
            tree[kind] = {**tree.get(kind, {}), name: dict(component)}
            defaults[kind] = name
        elif component is not None:
            defaults[kind] = component
    return {**tree, "defaults": defaults} if defaults else tree


def _paths(paths: Paths) -> list[Path]:
    return [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(each) for each in paths]
