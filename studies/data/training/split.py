"""The split into training and testing: a seeker's own hash decides, whoever else there is. Pure."""

import hashlib

TRAIN, TEST = "train", "test"
SIDES = (TRAIN, TEST)


def side_of(seeker: str, *, seed: int, test_share: float) -> str:
    """Return whether a seeker is for training or for testing.

    It is the same for a seeker in every export with this seed, so that no one who was tested on is trained on later.
    """
    digest = hashlib.sha256(f"{seed} {seeker}".encode()).digest()
    return TEST if int.from_bytes(digest[:8], "big") / 2**64 < test_share else TRAIN
