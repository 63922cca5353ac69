from dialogue.judges.strategies.base import Strategy, gettext_noop, register


class Standard(Strategy):
    name = "standard"
    label = gettext_noop("standard")
    about = gettext_noop("standard: the conversation alone")
    order = 10


register(Standard())
