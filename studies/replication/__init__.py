"""A small walk through the whole evaluation of each of the two papers, and its numbers beside theirs."""
