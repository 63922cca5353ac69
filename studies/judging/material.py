"""Material for a judge: the parts of a conversation that it reads."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dialogue.deidentification.identifiers import forms_of_name
from dialogue.deidentification.redaction import Redaction
from dialogue.judges.fields import ProfileLine, remove_field, text_of
from dialogue.judges.prompts import STATE_TEXTS, InnerState, JudgedTurn
from dialogue.judges.strategies import get_strategy
from dialogue.languages import get_code
from dialogue.models import InnerState as StateRow
from dialogue.models import Turn
from dialogue.models.conversation import TurnState
from studies.judging.planning import make_profile_lookup
from studies.judging.settings import Configuration
from studies.models import Answer, ArmRun
from studies.participation.profile_text import LEFT_OUT

SEEKER = "seeker"  # the source of the inner states that a simulated seeker had itself


@dataclass(frozen=True)
class Material:
    """All that is needed to judge, or to think through, one conversation; as it was held, until it is `as_sent`.

    `names`: what the person is called, to be taken out; None where nothing is. `redacted`: what has been, by kind.
    """

    run: ArmRun
    turns: tuple[JudgedTurn, ...]
    profile: tuple[ProfileLine, ...] = ()
    states: Mapping[int, InnerState] | None = None
    names: tuple[str, ...] | None = None
    redacted: Mapping[str, int] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """Return the code of the conversation's language, if we have prompts in it; else of the first."""
        return get_run_language(self.run)

    def up_to(self, turn: int) -> "Material":
        return replace(self, turns=tuple(one for one in self.turns if one.number <= turn)) if turn else self

    def without(self, field: str) -> "Material":
        """Return the material without a field of the inner states that this judge may not see; its Thinker sees all."""
        states = self.states or {}
        if field in STATE_TEXTS:
            states = {turn: replace(state, **{field: ""}) for turn, state in states.items()}
        return replace(self, profile=remove_field(self.profile, field), states=states)

    def profile_text(self) -> str:
        return text_of(self.profile)

    def as_sent(self) -> "Material":
        """Return it without what identifies a person, if the study file or the strategy asks for that."""
        if self.names is None:
            return self
        redaction = Redaction(self.names, self.language)
        return replace(
            self,
            turns=tuple(map(redaction.turn, self.turns)),
            profile=(ProfileLine("", redaction.text(self.profile_text())),),
            states={state.turn: redaction.state(state) for state in self.states_in_order()},
            redacted=dict(sorted(redaction.counts.items())),
        )

    def states_in_order(self) -> list[InnerState]:
        """Return the states of the turns that are here."""
        states = self.states or {}
        return [states[turn.number] for turn in self.turns if turn.number in states]

    def without_state(self) -> list[int]:
        """Return the places in `turns` after which no one has thought yet."""
        states = self.states or {}
        return [place for place, turn in enumerate(self.turns) if turn.number not in states]


def get_run_language(run: ArmRun) -> str:
    assert run.conversation is not None  # noqa: S101 - only runs with a conversation are judged
    return get_code(run.conversation.language)


def get_materials(configuration: Configuration, runs: Sequence[ArmRun]) -> Iterator[Material]:
    turns = get_turns(runs)
    strategy = get_strategy(configuration.strategy)
    states = get_stored_states(configuration, runs) if strategy.needs_states else {}
    profile_of = make_profile_lookup() if strategy.needs_profile else lambda _: ()
    names = get_nicknames(runs) if configuration.redacts else None
    for run in runs:
        own_states = states.get(run.conversation_id, {})
        called = None if names is None else names[run.participation_id]
        yield Material(run, tuple(turns[run.conversation_id]), profile_of(run), own_states, called)


def get_nicknames(runs: Sequence[ArmRun]) -> Mapping[int | None, tuple[str, ...]]:
    """Return what the people of these conversations told us to call them, by person."""
    people = {run.participation_id for run in runs if run.participation_id}
    answers = Answer.objects.filter(
        response__rater__participation__in=people, response__instrument="profile", item__in=LEFT_OUT
    )
    names: dict[int | None, tuple[str, ...]] = defaultdict(tuple)
    for person, name in answers.order_by("pk").values_list("response__rater__participation", "text"):
        names[person] += forms_of_name(name)
    return names


def get_stored_states(configuration: Configuration, runs: Sequence[ArmRun]) -> dict[int, dict[int, InnerState]]:
    """Return the states by conversation and turn.

    A simulated seeker's own states replace what a judge's Thinker supposes.
    """
    rows = StateRow.objects.filter(
        conversation__in=[run.conversation_id for run in runs],
        source__in=(SEEKER, configuration.judge.key),
        emotion_score__isnull=False,
    ).values_list("conversation", "source", "turn", "cognition", "emotion", "goal", "emotion_score")
    states: dict[int, dict[int, InnerState]] = defaultdict(dict)
    for conversation, _, turn, *parts, score in sorted(rows, key=lambda row: row[1] == SEEKER):
        states[conversation][turn] = InnerState(turn, *parts, round(score))
    return states


def get_turns(runs: Sequence[ArmRun]) -> dict[int, list[JudgedTurn]]:
    """Return, by conversation, the turns that have a whole reply. The first carries what the supporter opened with."""
    rows = Turn.objects.filter(conversation__in=[run.conversation_id for run in runs], state=TurnState.ANSWERED)
    turns: dict[int, list[JudgedTurn]] = defaultdict(list)
    columns = ("conversation", "number", "text", "reply", "conversation__opening")
    for conversation, *turn, opening in rows.order_by("number").values_list(*columns):
        turns[conversation].append(JudgedTurn(*turn, opening="" if turns[conversation] else opening))
    return turns
