"""Entry point of `rqa` and `python -m robust_qa`. Handles Ctrl-C during imports."""

import os
import sys

_INTERRUPTED = 130  # Exit.INTERRUPTED, which is not imported yet


def main() -> None:
    """Run the command. Exit quietly on Ctrl-C."""
    try:
        from .main import main as run

        run()
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working directory: do not import untrusted modules from it
    main()
