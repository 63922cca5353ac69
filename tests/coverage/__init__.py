"""How often the intervals of the analysis hold what was planted: `python -m tests.coverage` (docs/developers.md)."""
