"""How many inputs of each kind are sent: a few hundred in `make test`, as many as COUNT says in `make fuzz`."""

import os

from tests.amounts import choose

COUNT = "FUZZ_COUNT"  # set by `python -m tests.fuzz`
REPORT = "FUZZ_REPORT"  # a file that takes a line for each kind
SHARES = {  # per cent of all
    "form": 40,
    "query": 15,
    "frame": 20,
    "study file": 7,
    "import": 8,
    "API": 10,
}


def get_amount(kind: str) -> int:
    """Return how many inputs of this kind are sent."""
    count = int(os.environ.get(COUNT) or choose(usual=200, full=1000))
    return max(count * SHARES[kind] // 100, 1)
