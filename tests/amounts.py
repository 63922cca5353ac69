"""How many examples the long tests have: a few in `make test`, all in `make test-all`."""

import os
from typing import TypeVar

IN_FULL = "TESTS_IN_FULL"  # set by `python -m tests --all`
Amount = TypeVar("Amount")


def choose(*, usual: Amount, full: Amount) -> Amount:
    return full if os.environ.get(IN_FULL) else usual
