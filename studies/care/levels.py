"""The levels of danger in words, for those who are alarmed: what a level says, never what the person wrote."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

LEVELS: Mapping[int, str | Promise] = {
    1: _("distress"),
    2: _("a wish not to be there, self-injury, or an earlier attempt"),
    3: _("active thoughts of suicide, or danger to or from others"),
    4: _("a plan, means, a farewell, or an attempt under way"),
}


def describe_level(level: int) -> str:
    """Return a level with what it means; the number alone for 0, at which nothing was found."""
    meaning = LEVELS.get(level)
    return gettext("{level} ({meaning})").format(level=level, meaning=meaning) if meaning else str(level)
