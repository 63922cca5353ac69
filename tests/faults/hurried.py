"""`python -m tests.faults.hurried COMMAND …`: Python with this file or module, less patient between two attempts."""

import runpy
import sys

from dialogue.providers import retrying

FIRST_WAIT = 0.05  # seconds


def main() -> None:
    retrying.FIRST_WAIT = FIRST_WAIT
    sys.argv = sys.argv[1:]
    if sys.argv[0] == "-m":
        sys.argv = sys.argv[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
