"""Print the trace of an answer: every call and decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..sanitize import printable, single_line
from ..types import Answer, Step
from .output import MARKED, console, cost_line

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

_LONGEST_REPLY = 600  # characters of a reply or prompt shown without -v


def explain(answer: Answer, *, verbose: bool) -> None:
    """Print the trace as a tree on stderr. `verbose` adds prompts and whole replies."""
    explain_steps(
        answer.question, answer.trace, verbose=verbose, cost=f"{single_line(answer.strategy)} · {cost_line(answer)}"
    )


def explain_steps(question: str, steps: Sequence[Step], *, verbose: bool, cost: str = "") -> None:
    """Print the steps to an answer or an error as a tree on stderr."""
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(printable(question), style="bold"))
    for step in steps:
        _add_step(tree, step, question, verbose)
    if cost:
        tree.add(Text(cost, style="dim"))
    console(err=True).print(tree)


def _add_step(tree: Tree, step: Step, question: str, verbose: bool) -> None:
    from rich.text import Text

    if step.kind == "note":
        branch = tree.add(Text(f"→ {printable(step.what)}", style=MARKED))
    else:
        label = Text()
        label.append(f"{step.kind} ", style=f"bold {MARKED}")
        what = _shortened(step.what.removeprefix(question).strip(), 80)  # the question stands above all
        label.append(": ".join(filter(None, (single_line(step.component), what))))
        label.append(f"  {_step_cost(step)}", style="dim")
        branch = tree.add(label)
    if step.error:
        branch.add(Text(printable(step.error), style="red"))
    for key, value in step.data.items():
        if step.kind == "note":
            _add_value(branch, key, value, verbose)  # the strategy's own keys have no special meaning
        else:
            _add_data(branch, key, value, verbose)


def _step_cost(step: Step) -> str:
    parts = [f"{step.seconds:.2f} s"]
    if step.usage.calls:
        parts.insert(0, f"{step.usage.prompt_tokens} + {step.usage.completion_tokens} tokens")
    if step.cached:
        parts.append("cached")
    if step.retries:
        parts.append(f"{step.retries} retries")
    return " · ".join(parts)


def _add_data(branch: Tree, key: str, value: Any, verbose: bool) -> None:
    from rich.text import Text

    if key == "prompt":
        if verbose:
            for message in value:
                branch.add(Text(f"{message['role']}: {printable(message['content'])}", style="dim"))
        return
    if key == "passages" and value and isinstance(value[0], dict):
        for number, passage in enumerate(value, start=1):
            titled = ": ".join(part for part in (passage["title"], passage["text"]) if part)
            shown = printable(titled) if verbose else _shortened(titled, 90)
            branch.add(Text(f"{number}. {passage['score']:.2f}  {shown}"))
        return
    _add_value(branch, key, value, verbose)


def _add_value(branch: Tree, key: str, value: Any, verbose: bool) -> None:
    from rich.text import Text

    if not verbose and (not value or (key, value) == ("finish", "stop")):
        return  # empty or as expected
    if isinstance(value, list) and isinstance(value[0] if value else None, dict | list):
        items = branch.add(Text(key))
        for item in value:
            items.add(_item(item, verbose))
        return
    text = _as_text(value)
    branch.add(Text(f"{key}: {printable(text) if verbose else _shortened(text, _LONGEST_REPLY)}"))


def _item(item: Any, verbose: bool) -> Text:
    """Return one list item as a line. Items not kept are marked with - and struck out."""
    from rich.text import Text

    if not isinstance(item, dict) or "kept" not in item:
        return Text(_shortened(_as_text(item), _LONGEST_REPLY))
    rest = _as_text({name: value for name, value in item.items() if name != "kept"})
    shown = printable(rest) if verbose else _shortened(rest, 120)
    return Text(f"+ {shown}") if item["kept"] else Text("- ").append(shown, style="strike dim")


def _as_text(value: Any) -> str:
    """Return JSON-ready data as one line."""
    if isinstance(value, dict):
        return " · ".join(f"{key}: {_as_text(inner)}" for key, inner in value.items() if inner not in ("", None, []))
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _shortened(text: str, length: int) -> str:
    line = single_line(text)
    return line if len(line) <= length else line[: length - 1] + "…"
