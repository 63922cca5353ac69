"""Previews of a judge's prompts about a conversation, word for word, and of what forbids sending. No one is asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Q
from django.utils.translation import gettext as _

from dialogue.judges.schemas import RESPONSE_FORMAT
from dialogue.judges.strategies import get_strategy
from studies.instruments.loading import load
from studies.judging.asking import get_ledger_note
from studies.judging.changes import is_changed
from studies.judging.material import Material, get_materials
from studies.judging.planning import (
    get_places,
    get_rated_checkpoints,
    is_varied,
    judgement_of,
    may_be_sent,
    runs_to_judge,
)
from studies.judging.prompting import Prompt, build_prompts
from studies.judging.settings import Configuration
from studies.models import ArmRun, Study


class Place(NamedTuple):
    """The questionnaire and the part that it is about: `turn` is 0 for the whole conversation."""

    moment: str
    instrument: str
    turn: int

    def name(self) -> str:
        return f"{self.moment} {self.instrument}" + (f" {self.turn}" if self.turn else "")


@dataclass(frozen=True)
class Preview:
    """A preview of one judgement. `unthought`: turns of which a state-aware judge's Thinker has to think first; its
    states are then in the prompt too. `obstacles`: why it would not be sent, in words; empty where it would."""

    configuration: Configuration
    place: Place
    prompts: Sequence[Prompt]
    unthought: int
    obstacles: Sequence[str]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as the ledger keeps them, without the study file's `extra`.

        If items are asked one by one, the forms are a list.
        """
        settings = self.configuration.settings()
        forms = [prompt.form for prompt in self.prompts if prompt.form]
        return {
            **settings.parameters(),
            **({RESPONSE_FORMAT: forms[0] if len(forms) == 1 else forms} if forms else {}),
            **(get_ledger_note(self.prompts[0].redacted) if self.prompts else {}),
        }

    def role(self) -> str:
        """Return as whom the judge would rate."""
        return _(self.configuration.role.label)

    def receiver(self) -> str:
        """Return the model and provider that would get the prompt."""
        judge = self.configuration.judge
        if judge.kind == "scripted":
            return _("a script on this machine")
        return f"{judge.model}, {judge.provider or judge.base_url}"


def find_run(study: Study, code: str) -> ArmRun | None:
    """Return the run by its conversation's code, or by the imported file's name for it."""
    runs = study.runs.filter(Q(conversation__code=code) | Q(external_id=code), conversation__isnull=False)
    return runs.select_related("conversation", "participation").prefetch_related("participation__consents").first()


def get_places_about(run: ArmRun, moments: Sequence[str]) -> list[Place]:
    chat = run.protocol.spec().chat
    places = get_places(run, chat, moments, get_rated_checkpoints(run.study)[run.pk])
    return [Place(*place) for place in dict.fromkeys(places)]


def build_preview(configuration: Configuration, run: ArmRun, place: Place) -> Preview:
    [whole] = get_materials(configuration, [run])
    material = whole.up_to(place.turn)
    prompts = build_prompts(configuration, load(place.instrument), material, moment=place.moment)
    thinks = get_strategy(configuration.strategy).needs_states
    return Preview(
        configuration,
        place,
        list(prompts),
        unthought=len(material.without_state()) if thinks else 0,
        obstacles=list(find_obstacles(configuration, material, place)),
    )


def find_obstacles(configuration: Configuration, material: Material, place: Place) -> Iterator[str]:
    run, judge = material.run, configuration.judge
    if is_changed(run.study, judge):
        yield _(
            "This judge has already answered with another model, other settings or other prompts. Give the changed "
            "judge its own key."
        )
    if not runs_to_judge(run.study).filter(pk=run.pk).exists():
        yield _("The conversation is still open, has no reply, or the person has withdrawn.")
    if not may_be_sent(run, judge):
        name = judge.provider or judge.base_url
        yield _("The person's latest consent does not name “%(provider)s”.") % {"provider": name}
    if get_strategy(configuration.strategy).needs_profile and not material.profile:
        yield _("This strategy tells the judge who the seeker is, but nothing is known about this seeker.")
    judgement = judgement_of(run, place.instrument, place.moment, place.turn, 1, configuration.variant)
    if not is_varied(run, judgement, configuration.strategy, configuration.role, lambda _: material.profile):
        yield _("This variant would not change anything here.")
