from dialogue.judges.fields import PARTS
from dialogue.judges.strategies.base import Strategy, gettext_noop, register


class UserAware(Strategy):
    name = "user_aware"
    label = gettext_noop("user-aware")
    about = gettext_noop("user-aware: also who the person is")
    order = 20
    needs_profile = True
    fields = PARTS


register(UserAware())
