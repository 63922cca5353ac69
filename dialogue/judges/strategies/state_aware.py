from dialogue.judges.fields import PARTS, PROFILE
from dialogue.judges.prompts import STATE_FIELDS
from dialogue.judges.strategies.base import Strategy, gettext_noop, register


class StateAware(Strategy):
    name = "state_aware"
    label = gettext_noop("state-aware")
    about = gettext_noop("state-aware: also what went on in the person")
    order = 30
    needs_profile = True
    needs_states = True
    fields = (PROFILE, *PARTS, *STATE_FIELDS)


register(StateAware())
