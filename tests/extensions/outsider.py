"""A judge strategy as another package would bring it: this module and its prompt files."""

from pathlib import Path

from dialogue.judges.fields import CONCERN
from dialogue.judges.strategies import Strategy, register

NAME = "outsider"


class Outsider(Strategy):
    """Asks a third person, who is told of the seeker, and who never sees a name."""

    name = NAME
    label = "outsider"
    about = "outsider: a third person, who is told who the seeker is"
    order = 40
    needs_profile = True
    fields = (CONCERN,)
    redacts = True
    prompt = "outsider"
    folder = Path(__file__).with_name("prompts")


def bring() -> None:
    register(Outsider())
