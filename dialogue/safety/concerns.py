"""What a danger is about. The words and the lines of a person's page follow it."""

from collections.abc import Collection
from typing import Final

SELF: Final = "self"
VIOLENCE: Final = "violence"  # from others
OTHERS: Final = "others"  # danger to others
CHILD: Final = "child"
CONCERNS = (SELF, VIOLENCE, OTHERS, CHILD)

# Categories of patterns and of the second line. Those not named here are about the person themselves.
OF_CATEGORIES = {
    "child": CHILD,
    "child_in_danger": CHILD,
    "danger_to_child": CHILD,
    "violence": VIOLENCE,
    "violence_from_others": VIOLENCE,
    "others": OTHERS,
    "danger_to_others": OTHERS,
}
MILD = ("hopelessness", "isolation", "distress")  # they accompany every kind of danger and say nothing about it


def concern_of(categories: Collection[str]) -> str:
    """Return what a sign is about. Somebody who is a danger to themselves comes first, whatever else was said."""
    found = {OF_CATEGORIES.get(category, SELF) for category in categories if category not in MILD}
    return next((one for one in (SELF, CHILD, VIOLENCE, OTHERS) if one in found), SELF)
