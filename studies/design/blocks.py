"""An incomplete block design: which counsellor meets which arms, in which order and with which role cards. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb
from random import Random
from typing import NamedTuple

from dialogue.documents import translate as _
from studies.design.colouring import even_colouring

STARTS = 12  # the best of so many is taken, or the first in which all pairs of arms meet equally often

Rows = list[dict[int, int]]  # of each counsellor: position → number of the arm


class Place(NamedTuple):
    arm: str
    card: str  # its key; empty where there are no cards


Row = tuple[Place, ...]


def block_plan(
    arms: Sequence[str],
    *,
    counsellors: int,
    raters_per_arm: int = 3,
    cards: Sequence[str] = (),
    seed: int,
    block: int = 0,
) -> tuple[Row, ...]:
    """Return one row for each counsellor of this block; the same again for the same input. The arms of a row do not
    depend on the cards.

    Each arm stands in `raters_per_arm` rows, in none twice, and about equally often at each position. Rows differ by at
    most one in length. How often two arms stand in one row is as even as a search finds. Cards are used equally often,
    give or take one; the rows of an arm have different cards, and so have the arms of a row, where there are enough.
    Raises ValueError for numbers that cannot be.
    """
    for fault in impossible(len(set(arms)), counsellors, raters_per_arm):
        raise ValueError(fault)
    if len(set(arms)) < len(arms) or len(set(cards)) < len(cards):
        raise ValueError("an arm or a card is listed twice")
    return _plan(tuple(arms), counsellors, raters_per_arm, tuple(cards), f"{seed}/{block}")


def even_sets(arms: int, *, people: int, per_person: int, draw: Random) -> list[tuple[int, ...]]:
    """Return `per_person` of the numbers 0 … arms-1 for each of so many people: each number equally often, which must
    be possible, and each pair as evenly as a search finds."""
    rows = _best_rows(arms, people, people * per_person // arms, draw)
    return [tuple(sorted(row.values())) for row in rows]


def impossible(arms: int, counsellors: int, raters_per_arm: int) -> Iterator[str]:
    """Return what is wrong with these numbers."""
    if min(arms, counsellors, raters_per_arm) < 1:
        yield _("arms, counsellors and raters per arm must be at least 1 each")
    elif raters_per_arm > counsellors:
        yield _(
            "%(raters_per_arm)s raters an arm, but only %(counsellors)s counsellors",
            raters_per_arm=raters_per_arm,
            counsellors=counsellors,
        )
    elif arms * raters_per_arm < counsellors:
        yield _(
            "%(arms)s arms with %(raters_per_arm)s raters each leave nothing for some of %(counsellors)s counsellors",
            arms=arms,
            raters_per_arm=raters_per_arm,
            counsellors=counsellors,
        )


@lru_cache(maxsize=64)
def _plan(arms: tuple[str, ...], counsellors: int, raters: int, cards: tuple[str, ...], seed: str) -> tuple[Row, ...]:
    rows = _best_rows(len(arms), counsellors, raters, Random(f"counsellors/{seed}"))
    card_at = _cards_for(rows, cards, Random(f"cards/{seed}"))
    return tuple(
        tuple(Place(arms[row[position]], card_at[number, position]) for position in sorted(row))
        for number, row in enumerate(rows)
    )


def _best_rows(arms: int, counsellors: int, raters: int, draw: Random) -> Rows:
    best: Rows = []
    least = 0
    for _start_number in range(STARTS):
        rows = _start(arms, counsellors, raters, draw)
        meetings = _improve(rows, draw)
        unevenness = sum(count * count for count in meetings.values())
        if not best or unevenness < least:
            best, least = rows, unevenness
        if least == _fewest(arms, [len(row) for row in rows]):
            break
    return best


def _fewest(arms: int, lengths: Sequence[int]) -> int:
    """Return the sum of squares where all pairs of arms meet equally often, give or take one."""
    pairs = comb(arms, 2)
    share, over = divmod(sum(comb(length, 2) for length in lengths), pairs) if pairs else (0, 0)
    return (pairs - over) * share**2 + over * (share + 1) ** 2


def _start(arms: int, counsellors: int, raters: int, draw: Random) -> Rows:
    """Return the arms dealt out over the first positions of all counsellors, then the second, and so on: that is what
    makes positions even. A colour of the graph of arms and positions is then a counsellor: no arm twice, one arm a
    position."""
    numbers = draw.sample(range(arms), k=arms)
    edges = [(numbers[slot % arms], slot // counsellors) for slot in range(arms * raters)]
    draw.shuffle(edges)
    rows: Rows = [{} for _ in range(counsellors)]
    for (arm, position), counsellor in zip(edges, even_colouring(edges, counsellors), strict=True):
        rows[counsellor][position] = arm
    draw.shuffle(rows)
    return rows


def _improve(rows: Rows, draw: Random) -> Counter[frozenset[int]]:
    """Exchange arms between two rows as long as that makes the pairs more even. Return how often each pair meets."""
    meetings = Counter(frozenset(pair) for row in rows for pair in combinations(row.values(), 2))
    couples = list(combinations(range(len(rows)), 2))
    draw.shuffle(couples)
    while sum(_exchange(rows[one], rows[other], meetings) for one, other in couples):
        draw.shuffle(couples)
    return meetings


def _exchange(one: dict[int, int], other: dict[int, int], meetings: Counter[frozenset[int]]) -> bool:
    """Return the first exchange between two rows that helps, if there is one."""
    for leaving in sorted(set(one.values()) - set(other.values())):
        positions = _positions(one, other, leaving)
        coming = other.get(positions[-1])
        if coming is not None and _gain(one, other, leaving, coming, meetings) < 0:
            _meet(meetings, one, other, -1)
            for position in positions:
                one[position], other[position] = other[position], one[position]
            _meet(meetings, one, other, +1)
            return True
    return False


def _positions(one: dict[int, int], other: dict[int, int], leaving: int) -> list[int]:
    """Return the positions to exchange so that `leaving` changes rows and no row has an arm twice.

    What comes instead may be in the row already, at another position, and is exchanged there too. The last brings an
    arm that was not, or none.
    """
    place = {arm: position for position, arm in one.items()}
    positions = [place[leaving]]
    while (coming := other.get(positions[-1])) in place:
        positions.append(place[coming])
    return positions


def _gain(
    one: dict[int, int], other: dict[int, int], leaving: int, coming: int, meetings: Counter[frozenset[int]]
) -> int:
    """Return by how much the sum of the squared meetings would change. Arms of both rows meet both either way."""
    ours, theirs = set(one.values()), set(other.values())
    change = 0
    for arm in ours - theirs - {leaving}:
        change += 2 - 2 * meetings[frozenset((leaving, arm))] + 2 * meetings[frozenset((coming, arm))]
    for arm in theirs - ours - {coming}:
        change += 2 + 2 * meetings[frozenset((leaving, arm))] - 2 * meetings[frozenset((coming, arm))]
    return change


def _meet(meetings: Counter[frozenset[int]], one: dict[int, int], other: dict[int, int], times: int) -> None:
    for row in (one, other):
        for pair in combinations(row.values(), 2):
            meetings[frozenset(pair)] += times


def _cards_for(rows: Rows, cards: tuple[str, ...], draw: Random) -> dict[tuple[int, int], str]:
    """Return the card of each row and position. A colour of the graph of counsellors and arms is a card; who has more
    edges than there are cards is taken for several, so that cards come again only when all have come."""
    places = [(number, position) for number, row in enumerate(rows) for position in row]
    if not cards:
        return dict.fromkeys(places, "")
    draw.shuffle(places)
    seen: dict[int, int] = defaultdict(int)
    edges = []
    for number, position in places:
        arm = rows[number][position]
        edges.append(((number, position // len(cards)), (arm, seen[arm] // len(cards))))
        seen[arm] += 1
    drawn = draw.sample(cards, k=len(cards))
    return {place: drawn[colour] for place, colour in zip(places, even_colouring(edges, len(cards)), strict=True)}
