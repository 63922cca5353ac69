"""Studies with planted values, drawn at random. Scores are normal, or on a scale of 1 to 5 (`on_scale`)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array
from studies.analysis.measures import incidence

Random = np.random.Generator
Numbers = NDArray[np.intp]

CHATS = 4  # of each person
BETWEEN, WITHIN = 0.6, 0.4  # correlations of human and judge, of people's levels and of what is left
OF_PEOPLE = 0.36  # share of people's levels in the variance
ARM_MEAN = 3.8  # before scores are cut to the scale, whose upper end is then crowded
RATERS, OF_RATERS, OF_ERROR = 4, 0.25, 0.75  # variances, that of targets is 1
OF_LENIENCE = 0.25  # the part of OF_ERROR that a rater gives all conversations of a person
MODELS = np.array([-0.3, -0.1, 0.0, 0.1, 0.3])
OF_MODELS = 0.25  # variance of models that are drawn from others
FURTHER = 2  # times as far apart as MODELS are models whose scores are whole
MERITS = np.array([-0.6, -0.2, 0.0, 0.2, 0.6])  # of arms, by people
OTHER_MERITS = np.array([0.2, -0.4, 0.4, -0.4, 0.2])  # by a judge, in part: no correlation with these
SLOPE = -0.06  # points per position
HAZARD, FRAILTY, CAP, TECHNICAL = 0.08, 0.5, 15, 0.1
LEVELS = np.arange(1.0, 6.0)
OF_COUNSELLORS, OF_ARMS = 0.25, 0.15  # shares in the variance of counsellors' own conversations
BETWEEN_ARMS = 0.8  # correlation of human and judge, of arms' levels
MET = 0.5  # of the arms, by each counsellor; of the participants, by each rater
OF_VERDICTS = 0.2, 0.4  # shares of raters and participants in the variance of a preference
PREFERENCE, TIE_BELOW = 0.4, 0.3  # its mean; no side is preferred where it is less than this from 0
CROWDED = 4.8  # as ARM_MEAN, so that two in three scores stand at the upper end
LENIENT = 0.3  # the judge minus people, on average
TIMES, ERRORS = (2, 3), (0.5, 0.3)  # how often people and a judge score a conversation, and the variances of doing so
RARE, ONGOING = 0.004, 0.1  # safety stops per turn; share of conversations that nothing has ended yet
WALKED_OUT, STOPPED, BROKEN_OFF = range(3)  # ends, the last being the cap or a technical failure
INSIGHT, CANNOT_TELL = (0.4, 0.8), 0.2  # right guesses of two kinds of people, where they name an arm; share of none


def on_scale(scores: Array, *, middle: float = 3.0) -> Array:
    return np.asarray(np.clip(np.rint(middle + scores), LEVELS[0], LEVELS[-1]))


def people(count: int, each: int = CHATS) -> Numbers:
    """Whose each conversation is."""
    return np.repeat(np.arange(count), each)


def related(random: Random, rows: int, correlations: list[float]) -> Array:
    """Rows × (1 + correlations) standard normals, the first related to each other by so much, they to no more."""
    first = random.normal(size=rows)
    others = [r * first + np.sqrt(1 - r * r) * random.normal(size=rows) for r in correlations]
    return np.column_stack([first, *others])


def human_and_judges(random: Random, count: int, shifts: tuple[float, ...] = (0.0,)) -> Array:
    """Conversations × (human, judges), each of variance 1; both correlations of a judge are raised by its shift."""
    levels = related(random, count, [BETWEEN + shift for shift in shifts])[people(count)]
    rest = related(random, count * CHATS, [WITHIN + shift for shift in shifts])
    return np.asarray(np.sqrt(OF_PEOPLE) * levels + np.sqrt(1 - OF_PEOPLE) * rest)


def arms_by_both(random: Random, count: int, correlation: float) -> Array:
    """People × arms × (human, judge): all meet all arms, whose merits by both sides are so correlated."""
    other = OTHER_MERITS * np.sqrt((MERITS**2).sum() / (OTHER_MERITS**2).sum())
    merits = np.column_stack([MERITS, correlation * MERITS + np.sqrt(1 - correlation**2) * other])
    levels = related(random, count, [BETWEEN])[:, np.newaxis]
    rest = related(random, count * len(MERITS), [WITHIN]).reshape(count, len(MERITS), 2)
    return np.asarray(merits + np.sqrt(0.5) * (levels + rest))


def scored_again(random: Random, scores: Array, side: int) -> Array:
    """Conversations × times, of people (0) or a judge (1), each score with an error of its own."""
    errors = random.normal(size=(len(scores), TIMES[side]))
    return np.asarray(scores[:, np.newaxis] + np.sqrt(ERRORS[side]) * errors)


def human_and_lenient_judge(random: Random, count: int, middle: float) -> Array:
    """As `human_and_judges`, on the scale."""
    return on_scale(human_and_judges(random, count) + np.array([0.0, LENIENT]), middle=middle)


@dataclass(frozen=True)
class Crossed:
    """`values`: what each row has; `rows`, `columns`: whose it is, of two crossed kinds of clusters."""

    values: Array
    rows: Numbers
    columns: Numbers


def met(random: Random, rows: int, columns: int) -> tuple[Numbers, Numbers]:
    """Each row meets so many columns, drawn by itself."""
    drawn = np.argsort(random.random((rows, columns)), axis=1)[:, : round(MET * columns)]
    return np.repeat(np.arange(rows), drawn.shape[1]), drawn.ravel()


def own_conversations(random: Random, counsellors: int, arms: int, shifts: tuple[float, ...] = (0.0,)) -> Crossed:
    """Of counsellors with arms: (human, judges), each of variance 1; all correlations of a judge are raised by its
    shift."""
    whose, which = met(random, counsellors, arms)
    of_counsellors = related(random, counsellors, [BETWEEN + shift for shift in shifts])[whose]
    of_arms = related(random, arms, [BETWEEN_ARMS + shift for shift in shifts])[which]
    rest = related(random, len(whose), [WITHIN + shift for shift in shifts])
    shares = np.sqrt([OF_COUNSELLORS, OF_ARMS, 1 - OF_COUNSELLORS - OF_ARMS])
    return Crossed(np.tensordot(shares, np.stack([of_counsellors, of_arms, rest]), axes=1), whose, which)


def verdicts(random: Random, raters: int, participants: int) -> Crossed:
    """One on each participant's pair of conversations that a rater meets: 1, 0 or -1."""
    whose, which = met(random, raters, participants)
    of_raters, of_participants = OF_VERDICTS
    spread = np.sqrt(of_raters) * random.normal(size=raters)[whose]
    spread += np.sqrt(of_participants) * random.normal(size=participants)[which]
    spread += np.sqrt(1 - of_raters - of_participants) * random.normal(size=len(whose))
    preferred = PREFERENCE + spread
    return Crossed(np.sign(preferred) * (np.abs(preferred) > TIE_BELOW), whose, which)


def ratings(random: Random, targets: int) -> Array:
    """Targets × raters, crossed."""
    errors = np.sqrt(OF_ERROR) * random.normal(size=(targets, RATERS))
    raters = np.sqrt(OF_RATERS) * random.normal(size=RATERS)
    return np.asarray(random.normal(size=(targets, 1)) + raters + errors)


def levels_of_people(random: Random, count: int) -> Array:
    """One per conversation, of variance 1; a half is the person's."""
    of_people = np.sqrt(0.5) * random.normal(size=count)[people(count)]
    return np.asarray(of_people + np.sqrt(0.5) * random.normal(size=count * CHATS))


def ratings_of_people(random: Random, count: int, raters: int) -> Array:
    """As `ratings`, of several conversations of each person; raters are lenient towards some people."""
    lenience = np.sqrt(OF_LENIENCE) * random.normal(size=(count, raters))[people(count)]
    errors = np.sqrt(OF_ERROR - OF_LENIENCE) * random.normal(size=lenience.shape)
    strictness = np.sqrt(OF_RATERS) * random.normal(size=raters)
    return np.asarray(levels_of_people(random, count)[:, np.newaxis] + strictness + lenience + errors)


def second_ratings(random: Random, count: int, each: int = 2, raters: int = 3) -> Array:
    """Conversations × raters on the scale, `each` conversations of `count` people, whose levels differ."""
    of_people = np.sqrt(0.3) * random.normal(size=count)[people(count, each)]
    truth = of_people + np.sqrt(0.7) * random.normal(size=count * each)
    return on_scale(truth[:, np.newaxis] + 0.9 * random.normal(size=(count * each, raters)))


def arm_scores(random: Random, count: int) -> Array:
    """One per conversation, on the scale and near its upper end."""
    levels = 0.7 * random.normal(size=count)[people(count)]
    return on_scale(levels + 0.8 * random.normal(size=count * CHATS), middle=ARM_MEAN)


def users_and_models(random: Random, users: int) -> Array:
    """Users × models: the variances of users and of error are a half each."""
    return np.asarray(
        MODELS + np.sqrt(0.5) * (random.normal(size=(users, 1)) + random.normal(size=(users, len(MODELS))))
    )


def users_and_others(random: Random, users: int) -> Array:
    """As `users_and_models`, of as many models that are drawn from others."""
    others = np.sqrt(OF_MODELS) * random.normal(size=len(MODELS))
    return np.asarray(users_and_models(random, users) - MODELS + others)


def whole_scores_of_models(random: Random, users: int) -> Array:
    """Users × models on the scale, so that ranks tie."""
    return on_scale(users_and_models(random, users) + (FURTHER - 1) * MODELS)


def counsellors_and_arms(random: Random, counsellors: int) -> Array:
    """Counsellors × arms, as `users_and_models`, with counsellors who differ less and err more."""
    strictness = 0.6 * random.normal(size=(counsellors, 1))
    return np.asarray(3 + MODELS + strictness + 0.8 * random.normal(size=(counsellors, len(MODELS))))


@dataclass(frozen=True)
class Ordered:
    """`fixed`: one, the arms but the first, the position; `users`: whose each score is."""

    scores: Array
    fixed: Array
    users: Numbers


def in_order(random: Random, users: int) -> Ordered:
    """Each user meets every model once, in an order of their own."""
    arms = np.argsort(random.random((users, len(MODELS))), axis=1)
    position = np.broadcast_to(np.arange(len(MODELS)), arms.shape).ravel()
    levels = 0.7 * random.normal(size=(users, 1))
    errors = 0.8 * random.normal(size=arms.shape)
    scores = (MODELS[arms] + levels + errors).ravel() + SLOPE * position
    indicators = np.eye(len(MODELS))[arms.ravel()][:, 1:]
    fixed = np.column_stack([np.ones(len(scores)), indicators, position])
    return Ordered(scores, fixed, people(users, len(MODELS)))


def turns(random: Random, count: int) -> Numbers:
    """After how many turns each conversation would be walked out of; people differ in how soon they do."""
    hazard = np.minimum(HAZARD * np.exp(FRAILTY * random.normal(size=count)), 0.9)[people(count)]
    return np.asarray(random.geometric(hazard), dtype=np.intp)


def followed(random: Random, count: int) -> Array:
    """What is known of them, as counts of each person: broken off at the cap, or before by a technical failure."""
    wanted = turns(random, count)
    fails = random.random(len(wanted)) < TECHNICAL
    last = np.where(fails, random.integers(1, CAP, size=len(wanted)), CAP)
    ends = np.where(wanted <= last, 0, incidence.CENSORED)
    return counted(np.minimum(wanted, last), ends, count, 1)


def counted(last: Numbers, ends: Numbers, count: int, kinds: int) -> Array:
    """The longest is set to the cap, so that the turns that are told are the same in all draws."""
    found = incidence.counts(
        np.append(last, CAP), np.append(ends, incidence.CENSORED), np.append(people(count), 0), kinds
    )
    found[0, 0] -= 1
    return np.asarray(found)


def ended(random: Random, count: int) -> tuple[Numbers, Numbers]:
    """After how many turns each conversation ends, and how: by a walk-out, a rare safety stop, or else."""
    size = count * CHATS
    fails = random.random(size) < TECHNICAL
    broken_off = np.where(fails, random.integers(1, CAP, size=size), CAP)
    times = np.stack([turns(random, count), random.geometric(RARE, size=size), broken_off])
    return times.min(axis=0), times.argmin(axis=0)


def ended_so_far(random: Random, count: int) -> Array:
    """What is known of them, as counts of each person, where some are still going on."""
    last, ends = ended(random, count)
    watched = np.where(random.random(len(last)) < ONGOING, random.integers(1, CAP, size=len(last)), CAP)
    known = np.where(last <= watched, ends, incidence.CENSORED)
    return counted(np.minimum(last, watched), known, count, BROKEN_OFF + 1)


def guesses(random: Random, count: int, arms: int, insight: tuple[float, float], cannot_tell: float) -> Array:
    """People × arms × (arms + 1), as counts: what each said of a conversation with each arm."""
    met = np.arange(arms)
    right = random.random((count, arms)) < random.choice(insight, size=(count, 1))
    named = np.where(right, met, (met + random.integers(1, arms, size=(count, arms))) % arms)
    return np.eye(arms + 1)[np.where(random.random((count, arms)) < cannot_tell, arms, named)]
