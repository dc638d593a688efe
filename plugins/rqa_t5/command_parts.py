"""What the commands of this plugin have in common."""

from __future__ import annotations

import shlex
import sys
from importlib import import_module
from pathlib import Path

import click

from robust_qa import MissingError, RqaError
from robust_qa.kit import install_hint

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
_QUANTIZATIONS = (
    "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16", "float32"
)  # fmt: skip
quantization_option = click.option(
    "--quantization",
    metavar="KIND",
    type=click.Choice(_QUANTIZATIONS),
    default="int8",
    show_default=True,
    help=f"Of the weights: {', '.join(_QUANTIZATIONS)}.",
)


def need(*modules: str) -> None:
    """Raise MissingError unless these modules of the extra [train] are there, RqaError where one cannot be loaded."""
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise MissingError(
                f"This needs {error.name}, which is not installed.",
                hint=f"Install it: `{install_hint('train')}`.",
            ) from error
        except OSError as error:  # a library that torch links to
            raise RqaError(f"{module} cannot be imported: {error}.") from error


def command_line(first: str) -> str:
    """The command line, for the model card."""
    words = sys.argv[sys.argv.index(first) :] if first in sys.argv else [first]
    return shlex.join(["rqa", *words])
