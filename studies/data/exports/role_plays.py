"""role_plays.csv: what counsellors were given to play, and what they say that they played."""

from django.db.models import QuerySet

from studies.data.exports.columns import CONVERSATION, Column, Filter, Rows, Table, conversation_of, integer, text
from studies.design.behaviours import behaviours
from studies.models import RolePlay, Study

KEYS = [behaviour.key for behaviour in behaviours()]


def intensity_of(label: str, key: str) -> Column:
    meaning = f"how strongly the card has the behaviour ({label.lower()}); empty without a card"
    return integer(key, meaning, "points", 0, 3)


COLUMNS = (
    CONVERSATION,
    text("card", "the key of the role card; empty for a seeker of the counsellor's own"),
    *(intensity_of(behaviour.label["en"], behaviour.key) for behaviour in behaviours()),
    text("played", "the behaviours that the counsellor ticked as played, in the order of ticking, joined by ;", KEYS),
    integer("stepped_out", "how often the counsellor stepped out of the role", "times"),
)


def role_plays_of(study: Study, only: Filter) -> QuerySet[RolePlay]:
    return RolePlay.objects.filter(run__in=only.runs(study))


def role_plays(study: Study, only: Filter) -> Rows:
    found = role_plays_of(study, only).order_by("run")
    rows = found.values_list(conversation_of("run__"), "card", "played", "stepped_out")
    for conversation, card, played, stepped_out in rows.iterator():
        intensities = card.get("intensities", {})
        yield conversation, card.get("key", ""), *map(intensities.get, KEYS), ";".join(played), stepped_out


def count_role_plays(study: Study, only: Filter) -> int:
    return role_plays_of(study, only).count()


ROLE_PLAYS = Table("role_plays", "a conversation that a counsellor played", COLUMNS, role_plays, count_role_plays)
