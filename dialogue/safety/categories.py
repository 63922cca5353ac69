"""The four groups into which the categories of a sign fall; the words and lines of a page follow them."""

import re
from collections.abc import Collection
from typing import Literal, get_args

PageCategory = Literal["self", "from_others", "to_others", "child"]
PAGE_CATEGORIES: tuple[PageCategory, ...] = get_args(PageCategory)

CHILD = "child"  # beside another category: a child is in danger, or a child writes
FROM_OTHERS = ("violence_from_others", "from_others")
TO_OTHERS = ("danger_to_others", "to_others")
# Of violence. A child who wants to die belongs to "self", like anybody else.
NAMES_CHILD = re.compile(
    r"\b(?:my|our|the|a|his|her|their|that|this|little|step)[- ]?(?:\w+ )?(?:baby|babies|kids?|child|children"
    r"|toddler|newborn|infant|son|daughter|stepson|stepdaughter|little (?:boy|girl|brother|sister)|niece|nephew)\b"
    r"|\bi(?:m| am) (?:only |just )?(?:[5-9]|1[0-7])\b(?! (?:years (?:older|into)|weeks|months|minutes|hours|days|%))"
    r"|\b(?:step ?(?:father|dad|mother|mom|mum)|foster (?:father|mother|parents?))\b"
    r"|孩子|儿子|女儿|宝宝|婴儿|小孩|幼儿|我(?:今年|才|刚)?(?:[5-9]|1[0-7])岁|[继后](?:父|爸|母|妈)|养父"
)


def page_category(categories: Collection[str]) -> PageCategory:
    """Return the group whose words and lines a page shows for the categories of a verdict or an event.

    Harm to oneself comes first, since its lines are right for everybody, and it is also the answer where a classifier
    alone noticed something and nothing says what.
    """
    of_others = {*FROM_OTHERS, *TO_OTHERS, CHILD}
    if any(category not in of_others for category in categories) or not categories:
        return "self"
    if CHILD in categories:
        return "child"
    return "to_others" if any(category in TO_OTHERS for category in categories) else "from_others"


def names_child(folded: str, categories: Collection[str]) -> bool:
    """Return whether a folded text that tells of violence tells of a child, or is a child's."""
    violent = any(category in (*FROM_OTHERS, *TO_OTHERS) for category in categories)
    return violent and bool(NAMES_CHILD.search(folded))
