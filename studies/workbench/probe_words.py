"""Ways to ask a judge otherwise, probes and fields left out, in the words of the pages."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from dialogue.judges.probes import WARM

REPEAT, ORDER_SWAP = "repeat", "order_swap"
REPLICATES = 3
WORDS: dict[str, tuple[str | Promise, str | Promise]] = {
    "apart": (
        gettext_lazy("One by one"),
        gettext_lazy("Each dimension is asked in a call of its own: does one score colour the next?"),
    ),
    "padding": (
        gettext_lazy("Padded replies"),
        gettext_lazy("Every reply is followed by words that say nothing: does length alone please?"),
    ),
    "reversed_scale": (
        gettext_lazy("Scale turned round"),
        gettext_lazy("The lowest number is the best, and the score is turned back: a fair judge gives the same."),
    ),
    "paraphrase": (
        gettext_lazy("Other words"),
        gettext_lazy("A second wording of the questions, ours and not validated: do the words matter, or the meaning?"),
    ),
    "item_order": (
        gettext_lazy("Dimensions in reverse"),
        gettext_lazy("The last question comes first: does the first score anchor the others?"),
    ),
    "arm_name": (
        gettext_lazy("Model named"),
        gettext_lazy("The prompt says which model wrote the replies and who made it: does a name sway?"),
    ),
    "language": (
        gettext_lazy("Other language"),
        gettext_lazy("The questions are in the other language than the conversation."),
    ),
    WARM: (
        gettext_lazy("Warmer, again and again"),
        gettext_lazy("Three answers to each question at temperature 0.7, beside three at the judge's own."),
    ),
    REPEAT: (
        gettext_lazy("The same again"),
        gettext_lazy("Three answers to each question: how much is chance?"),
    ),
    ORDER_SWAP: (
        gettext_lazy("Pairs in both orders"),
        gettext_lazy("The pairs of all plans, each shown twice with the sides exchanged: does the place decide?"),
    ),
}
STRATEGIES = [
    ("standard", gettext_lazy("standard: the conversation alone")),
    ("user_aware", gettext_lazy("user-aware: also who the person is")),
    ("state_aware", gettext_lazy("state-aware: also what went on in the person")),
]
SHORT_STRATEGIES = {"user_aware": gettext_lazy("user-aware"), "state_aware": gettext_lazy("state-aware")}
FIELD_WORDS: dict[str, tuple[str | Promise, str | Promise]] = {
    "profile": (
        gettext_lazy("Whole profile"),
        gettext_lazy("All that is known of the person; the inner states stay."),
    ),
    "demographics": (
        gettext_lazy("Demographics"),
        gettext_lazy("Age, gender, occupation, relationship."),
    ),
    "personality": (
        gettext_lazy("Personality"),
        gettext_lazy("The Big Five, interests; of simulated seekers also habits, tastes and the way of writing."),
    ),
    "big_five": (
        gettext_lazy("Big Five"),
        gettext_lazy("The five scores alone."),
    ),
    "concern": (
        gettext_lazy("Concern"),
        gettext_lazy("What it is about, how things stand, and what is hoped for."),
    ),
    "script": (
        gettext_lazy("Script"),
        gettext_lazy("Of simulated seekers alone: how they begin, react and leave."),
    ),
    "cognition": (
        gettext_lazy("Thoughts"),
        gettext_lazy("Of each inner state: what the person thinks of the reply."),
    ),
    "emotion": (
        gettext_lazy("Feelings in words"),
        gettext_lazy("Of each inner state: whether the feeling was met."),
    ),
    "goal": (
        gettext_lazy("Goal"),
        gettext_lazy("Of each inner state: how near the person is to what it came for."),
    ),
    "emotion_score": (
        gettext_lazy("Feelings as a number"),
        gettext_lazy("Of each inner state: the number from 0 to 100."),
    ),
}
