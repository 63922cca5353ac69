"""role_plays.csv: what counsellors were given to play, and what they say that they played."""

from django.db.models import QuerySet

from studies.data.exports.columns import Column, Filter, Then, conversation, integer, query_table, text
from studies.design.behaviours import behaviours
from studies.models import RolePlay, Study

KEYS = [behaviour.key for behaviour in behaviours()]


def intensity_of(label: str, key: str) -> Column:
    meaning = f"how strongly the card has the behaviour ({label.lower()}); empty without a card"
    of_card = Then("card", lambda card: card.get("intensities", {}).get(key))
    return integer(key, meaning, of_card, "points", minimum=0, maximum=3)


COLUMNS = (
    conversation("run__"),
    text(
        "card",
        "the key of the role card; empty for a seeker of the counsellor's own",
        Then("card", lambda card: card.get("key", "")),
    ),
    *(intensity_of(behaviour.label["en"], behaviour.key) for behaviour in behaviours()),
    text(
        "played",
        "the behaviours that the counsellor ticked as played, in the order of ticking, joined by ;",
        Then("played", ";".join),
        KEYS,
    ),
    integer("stepped_out", "how often the counsellor stepped out of the role", unit="times"),
)


def role_plays(study: Study, only: Filter) -> QuerySet[RolePlay]:
    return RolePlay.objects.filter(run__in=only.runs(study)).order_by("run")


ROLE_PLAYS = query_table("role_plays", "a conversation that a counsellor played", COLUMNS, role_plays)
