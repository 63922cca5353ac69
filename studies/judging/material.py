"""What a judge reads of a conversation."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dialogue.judges.prompts import InnerState, JudgedTurn
from dialogue.models import InnerState as StateRow
from dialogue.models import Turn
from dialogue.models.conversation import TurnState
from studies.judging.planning import profiles
from studies.judging.settings import Configuration
from studies.models import ArmRun

SEEKER = "seeker"  # the source of the inner states that a simulated seeker had itself


@dataclass(frozen=True)
class Material:
    """All that is needed to judge, or to think through, one conversation."""

    run: ArmRun
    turns: tuple[JudgedTurn, ...]
    profile: str = ""
    states: Mapping[int, InnerState] | None = None

    @property
    def language(self) -> str:
        """Of the conversation, where we have prompts in it; else English."""
        return language_of(self.run)

    def up_to(self, turn: int) -> "Material":
        return replace(self, turns=tuple(one for one in self.turns if one.number <= turn)) if turn else self

    def without_state(self) -> list[int]:
        """The places in `turns` of those after which nobody has thought yet."""
        known = self.states or {}
        return [place for place, turn in enumerate(self.turns) if turn.number not in known]


def language_of(run: ArmRun) -> str:
    assert run.conversation is not None  # noqa: S101 - only runs with a conversation are judged
    return "zh" if run.conversation.language.startswith("zh") else "en"


def materials(configuration: Configuration, runs: Sequence[ArmRun]) -> Iterator[Material]:
    turns = turns_of(runs)
    states = stored_states(configuration, runs) if configuration.strategy == "state_aware" else {}
    profile_of = profiles() if configuration.strategy != "standard" else lambda _: ""
    for run in runs:
        known = states.get(run.conversation_id, {})
        yield Material(run, tuple(turns[run.conversation_id]), profile_of(run), known)


def stored_states(configuration: Configuration, runs: Sequence[ArmRun]) -> dict[int, dict[int, InnerState]]:
    """By conversation and turn. A simulated seeker's own states come before what a judge's Thinker supposes."""
    rows = StateRow.objects.filter(
        conversation__in=[run.conversation_id for run in runs],
        source__in=(SEEKER, configuration.judge.key),
        emotion_score__isnull=False,
    ).values_list("conversation", "source", "turn", "cognition", "emotion", "goal", "emotion_score")
    states: dict[int, dict[int, InnerState]] = defaultdict(dict)
    for conversation, _, turn, *parts, score in sorted(rows, key=lambda row: row[1] == SEEKER):
        states[conversation][turn] = InnerState(turn, *parts, round(score))
    return states


def turns_of(runs: Sequence[ArmRun]) -> dict[int, list[JudgedTurn]]:
    """By conversation: the turns that have a whole reply."""
    rows = Turn.objects.filter(conversation__in=[run.conversation_id for run in runs], state=TurnState.ANSWERED)
    turns: dict[int, list[JudgedTurn]] = defaultdict(list)
    for conversation, *turn in rows.order_by("number").values_list("conversation", "number", "text", "reply"):
        turns[conversation].append(JudgedTurn(*turn))
    return turns
