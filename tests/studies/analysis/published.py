"""Published data that several tests use."""

import numpy as np

# Shrout & Fleiss 1979, Psychological Bulletin 86:420, table 2: six targets, four judges.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)

# Davies & Goldsmith 1972, Statistical Methods in Research and Production, section 6.6, as lme4 has it: diameters (mm)
# for six samples of penicillin on each of 24 plates. (A copy in circulation has a 24 in the last but two, third: the
# printed figures follow from the 25 alone.)
PENICILLIN = np.array(
    [
        [27, 23, 26, 23, 23, 21],
        [27, 23, 26, 23, 23, 21],
        [25, 21, 25, 24, 24, 20],
        [26, 23, 25, 23, 23, 20],
        [25, 22, 26, 22, 23, 20],
        [24, 22, 25, 23, 22, 19],
        [24, 20, 23, 21, 22, 19],
        [26, 22, 26, 24, 24, 21],
        [24, 21, 24, 22, 22, 20],
        [24, 21, 24, 23, 22, 19],
        [26, 23, 26, 24, 24, 21],
        [25, 22, 26, 24, 24, 20],
        [26, 24, 26, 24, 25, 22],
        [26, 23, 26, 23, 23, 20],
        [26, 23, 25, 24, 24, 22],
        [25, 22, 25, 23, 23, 20],
        [25, 21, 24, 23, 23, 20],
        [25, 22, 24, 23, 23, 19],
        [24, 21, 23, 21, 21, 19],
        [26, 23, 26, 24, 24, 21],
        [25, 21, 24, 22, 22, 18],
        [25, 22, 25, 22, 22, 20],
        [24, 21, 24, 22, 24, 19],
        [24, 21, 24, 22, 21, 18],
    ],
    dtype=float,
)
# `lmer(diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin)`, as printed in Bates, "lme4: Mixed-effects modeling with
# R", section 2.1: REML criterion, mean, standard deviations. They follow from the data above to every digit.
PENICILLIN_FIT = {"criterion": 330.8606, "mean": 22.9722, "plate": 0.8467, "sample": 1.9316, "residual": 0.5499}
