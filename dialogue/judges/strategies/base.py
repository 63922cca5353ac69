"""The base of all strategies, and the registry of them. Pure."""

from collections.abc import Sequence
from pathlib import Path

from dialogue.judges.prompts import InnerState, JudgedItem, JudgedTurn, Note, judge_messages
from dialogue.prompts import DEFAULTS, FOLDER, JUDGE, Prompts, StandingText
from dialogue.providers.base import Message


class Strategy:
    """A strategy: what a judge is shown next to the conversation, and how it is asked.

    A subclass has at least `name`, `label`, `about` and `order`. Results sort strategies by `name`, so that the sign of
    a difference does not depend on which strategies are installed; forms list them by `order`.
    """

    name: str  # in commands, study files and exported columns
    label: str  # a word or two; translated where it is shown, as is `about`
    about: str  # what the judge is shown, after the label
    order: int  # of the choices in forms and commands, from the lowest
    needs_profile = False  # a conversation whose seeker is unknown is not judged
    needs_states = False  # a Thinker writes down what is missing before the judge is asked
    fields: Sequence[str] = ()  # the parts of profile and inner states that can be left out one at a time
    redacts = False  # identifying words are always removed, not only when the judge asks for it
    prompt = JUDGE  # the standing text is the file PROMPT.LANGUAGE.txt in `folder`
    folder: Path = FOLDER

    def build_messages(
        self,
        turns: Sequence[JudgedTurn],
        items: Sequence[JudgedItem],
        *,
        language: str,
        profile: str = "",
        states: Sequence[InnerState] = (),
        scope: str = "",
        notes: Sequence[Note] = (),
        without: str = "",
        standing: StandingText | None = None,
    ) -> list[Message]:
        """Return the prompt. `profile` and `states` are empty unless the strategy needs them. `standing`: the standing
        text; by default the strategy's own."""
        return judge_messages(
            turns,
            items,
            language=language,
            profile=profile,
            states=states,
            scope=scope,
            notes=notes,
            without=without,
            standing=standing or self.get_standing_text(language),
        )

    def get_standing_text(self, language: str, prompts: Prompts = DEFAULTS, role: str = JUDGE) -> StandingText:
        """Return the study's `judge_NAME` for this strategy, else the text of `prompt`, the study's or our own.

        `role`: the prompt of the judge's role. One that is not `judge`, the seeker's, serves all strategies that have
        no prompt of their own.
        """
        if role != JUDGE and self.prompt == JUDGE:
            return prompts.get(role, language)
        return prompts.get(prompts.choose(f"judge_{self.name}", self.prompt), language, self.folder)


_REGISTRY: dict[str, Strategy] = {}


def gettext_noop(message: str) -> str:
    """Return the text as it is. It is marked so that the catalogue has it; no Django is needed to import this."""
    return message


def register(strategy: Strategy) -> None:
    """Make a strategy known to commands, forms, study files, exports and reports."""
    _REGISTRY[strategy.name] = strategy


def unregister(name: str) -> None:
    """Remove a strategy again, for tests."""
    del _REGISTRY[name]


def get_strategies() -> dict[str, Strategy]:
    """Return the strategies by name, in the order of forms."""
    return {one.name: one for one in sorted(_REGISTRY.values(), key=lambda one: (one.order, one.name))}


def get_strategy(name: str) -> Strategy:
    """Return the strategy of that name. Raises LookupError if no installed module has registered it."""
    if name not in _REGISTRY:
        raise LookupError(f"No strategy of judges is called {name!r}; there are {', '.join(get_strategies())}.")
    return _REGISTRY[name]


def fields_to_leave_out() -> list[str]:
    """Return every field that some strategy tells and that can be left out, in the order of the one that tells most."""
    by_length = sorted(get_strategies().values(), key=lambda one: -len(one.fields))
    return list(dict.fromkeys(field for strategy in by_length for field in strategy.fields))
