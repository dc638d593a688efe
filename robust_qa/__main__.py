"""The entry of `rqa`, and of `python -m robust_qa`: what is imported is imported where Ctrl-C is minded."""

import os
import sys

_INTERRUPTED = 130  # Exit.INTERRUPTED, before anything is there to say so


def main() -> None:
    """Run the command. An interruption ends it quietly, also one that comes while its modules are imported."""
    try:
        from .main import main as run

        run()
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    try:
        if sys.path and sys.path[0] == os.getcwd():  # noqa: PTH109  (pathlib is slow to import)
            # Python puts the working directory there, and what a stranger left in it is no plugin.
            del sys.path[0]
    except FileNotFoundError:
        pass  # it was removed, and Python found none to put there
    main()
