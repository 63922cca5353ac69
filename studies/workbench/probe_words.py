"""Labels of variants of judges, of probes, and of fields left out."""

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dialogue.judges.probes import WARM
from dialogue.judges.strategies import get_strategies

REPEAT, ORDER_SWAP = "repeat", "order_swap"
REPLICATES = 3
WORDS: dict[str, tuple[str | Promise, str | Promise]] = {
    "apart": (
        gettext_lazy("One by one"),
        gettext_lazy("Each dimension is asked in a separate call. Does one score influence the next?"),
    ),
    "padding": (
        gettext_lazy("Padded replies"),
        gettext_lazy("Meaningless words are added to every reply. Does length alone raise the score?"),
    ),
    "reversed_scale": (
        gettext_lazy("Scale reversed"),
        gettext_lazy(
            "The lowest number is the best, and the score is reversed again afterwards. A fair judge gives the same "
            "score."
        ),
    ),
    "paraphrase": (
        gettext_lazy("Different wording"),
        gettext_lazy("A second wording of the questions, written by us and not validated. Does the wording matter?"),
    ),
    "item_order": (
        gettext_lazy("Dimensions in reverse"),
        gettext_lazy("The last question comes first. Does the first score anchor the others?"),
    ),
    "arm_name": (
        gettext_lazy("Model named"),
        gettext_lazy("The prompt says which model wrote the replies and who made it. Does a name influence the score?"),
    ),
    "language": (
        gettext_lazy("Other language"),
        gettext_lazy("The questions are in a different language from the conversation."),
    ),
    WARM: (
        gettext_lazy("Higher temperature, repeated"),
        gettext_lazy(
            "Three answers to each question at temperature 0.7, next to three at the judge's own temperature."
        ),
    ),
    REPEAT: (
        gettext_lazy("Repeated"),
        gettext_lazy("Three answers to each question. How much is chance?"),
    ),
    ORDER_SWAP: (
        gettext_lazy("Pairs in both orders"),
        gettext_lazy("The pairs of all plans, each shown twice with the sides swapped. Does the position decide?"),
    ),
}
FIELD_WORDS: dict[str, tuple[str | Promise, str | Promise]] = {
    "profile": (
        gettext_lazy("Whole profile"),
        gettext_lazy("Everything that is known about the person. The inner states stay."),
    ),
    "demographics": (
        gettext_lazy("Demographics"),
        gettext_lazy("Age, gender, occupation, relationship."),
    ),
    "personality": (
        gettext_lazy("Personality"),
        gettext_lazy("The Big Five and interests. For simulated seekers also habits, tastes and writing style."),
    ),
    "big_five": (
        gettext_lazy("Big Five"),
        gettext_lazy("Only the five scores."),
    ),
    "concern": (
        gettext_lazy("Concern"),
        gettext_lazy("What the concern is, how things stand, and what the person hopes for."),
    ),
    "script": (
        gettext_lazy("Script"),
        gettext_lazy("Only for simulated seekers: how they start, react and leave."),
    ),
    "cognition": (
        gettext_lazy("Thoughts"),
        gettext_lazy("In each inner state: what the person thinks of the reply."),
    ),
    "emotion": (
        gettext_lazy("Feelings in words"),
        gettext_lazy("In each inner state: whether the reply met the feeling."),
    ),
    "goal": (
        gettext_lazy("Goal"),
        gettext_lazy("In each inner state: how close the person is to their goal."),
    ),
    "emotion_score": (
        gettext_lazy("Feelings as a number"),
        gettext_lazy("In each inner state: the number from 0 to 100."),
    ),
}


def strategy_choices() -> list[tuple[str, str]]:
    """Return the choices of a form: each strategy by name, with what a judge is shown under it."""
    return [(name, _(strategy.about)) for name, strategy in get_strategies().items()]
