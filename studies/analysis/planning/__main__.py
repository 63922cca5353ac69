"""Answer planning questions in a process of their own, because pages must not import scipy.

It reads a `Wish` as JSON from standard input and writes the `Need`, or the `Chance`, as JSON.
"""

import json
import sys
from dataclasses import asdict
from typing import TextIO

from studies.analysis.planning import SIMULATED, Chance, Need, Wish
from studies.analysis.planning.sample_size import need

BAD_INPUT = 2  # exit code


def main(source: TextIO, target: TextIO) -> int:
    try:
        result = answer(Wish(**json.load(source)))
    except (TypeError, ValueError) as error:
        target.write(f"{error}\n")
        return BAD_INPUT
    json.dump(asdict(result), target)
    return 0


def answer(wish: Wish) -> Need | Chance:
    if wish.question not in SIMULATED:
        return need(wish)
    # It takes longer to import than most needs to compute.
    from studies.analysis.planning.power import chance

    return chance(wish)


if __name__ == "__main__":
    sys.exit(main(sys.stdin, sys.stdout))
