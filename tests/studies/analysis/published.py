"""Published data that several tests use."""

import numpy as np

# Shrout & Fleiss 1979, Psychological Bulletin 86:420, table 2: six targets, four judges.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)
