"""The order in which people meet the arms: balanced, seeded, and the same again for the same person. Pure."""

from collections.abc import Sequence
from random import Random

DESIGNS = ("williams", "blocks", "random")


def williams(n: int) -> list[tuple[int, ...]]:
    """Return sequences of 0 … n-1 balanced for first-order carry-over: `n` of them, or `2n` where `n` is odd.

    Each number stands equally often in each place, and each ordered pair stands side by side once (odd `n`: twice).
    E. J. Williams (1949), Australian Journal of Scientific Research A 2, 149-168.
    """
    zigzag = [place // 2 if place % 2 == 0 else n - 1 - place // 2 for place in range(n)]
    rows = [tuple((number + shift) % n for number in zigzag) for shift in range(n)]
    return rows if n % 2 == 0 else rows + [row[::-1] for row in rows]


def order_for(design: str, arms: Sequence[str], *, index: int, seed: int, per_person: int | None) -> tuple[str, ...]:
    """Return the arms of the person who is number `index`, counted from 0, in their order.

    Whoever fills a block (the Williams sequences, else as many persons as there are arms) leaves every arm used equally
    often, in every place too but for `random`.
    """
    count = len(arms) if per_person is None else per_person
    if not 1 <= count <= len(arms):
        raise ValueError(f"{count} arms a person out of {len(arms)}")
    if design == "williams":
        return _williams_order(arms, index, seed, count)
    if design == "blocks":
        return _block_order(arms, index, seed, count)
    if design == "random":
        return _random_order(arms, index, seed, count)
    raise ValueError(f'"{design}" is none of {", ".join(DESIGNS)}')


def _williams_order(arms: Sequence[str], index: int, seed: int, count: int) -> tuple[str, ...]:
    sequences = williams(len(arms))
    block, place = divmod(index, len(sequences))
    draw = Random(f"williams/{seed}/{block}")
    draw.shuffle(sequences)
    names = list(arms)
    if count < len(arms):
        # A sequence's beginning always pairs the same neighbours; new names in each block bring the other pairs.
        draw.shuffle(names)
    return tuple(names[number] for number in sequences[place][:count])


def _block_order(arms: Sequence[str], index: int, seed: int, count: int) -> tuple[str, ...]:
    block, place = divmod(index, len(arms))
    draw = Random(f"blocks/{seed}/{block}")
    names = draw.sample(arms, k=len(arms))
    first = draw.sample(range(len(arms)), k=len(arms))[place]
    return tuple((names[first:] + names[:first])[:count])


def _random_order(arms: Sequence[str], index: int, seed: int, count: int) -> tuple[str, ...]:
    """Return arms that are balanced over the block, in an order that is drawn for each person."""
    chosen = _block_order(arms, index, seed, count)
    return tuple(Random(f"random/{seed}/{index}").sample(chosen, k=count))
