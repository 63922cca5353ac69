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

# Montgomery, Design and Analysis of Experiments, 8th edition 2013, example 5.6: intensity at which a target on a radar
# scope is seen. Three ground clutters × four operators (blocks) × two filters.
CLUTTER = np.array(
    [
        [[90, 86], [96, 84], [100, 92], [92, 81]],
        [[102, 87], [106, 90], [105, 97], [96, 80]],
        [[114, 93], [112, 91], [108, 95], [98, 83]],
    ],
    dtype=float,
)
# The analysis of variance that follows from them by the book's formulas: sum of squares, degrees of freedom, F.
CLUTTER_ANOVA = {
    "clutter": (335.58, 2, 15.13),
    "filter": (1066.67, 1, 96.19),
    "clutter × filter": (77.08, 2, 3.48),
    "operator": (402.17, 3, np.nan),
    "error": (166.33, 15, np.nan),
}
