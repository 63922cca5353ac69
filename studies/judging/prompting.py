"""The prompts by which a judge is asked, word for word as they are sent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dialogue.judges import probes
from dialogue.judges.probes import Asked
from dialogue.judges.prompts import JudgedItem, judge_messages, template_version
from dialogue.providers.base import Message
from studies.judging.items import judged_items, scope_of
from studies.judging.material import Material
from studies.judging.settings import Configuration
from studies.questionnaires.definitions import Questionnaire


@dataclass(frozen=True)
class Prompt:
    messages: Sequence[Message]
    items: Sequence[JudgedItem]
    language: str  # of the standing text: en or zh
    version: str  # as the ledger keeps it


def prompts_of(
    configuration: Configuration, questionnaire: Questionnaire, material: Material, *, moment: str
) -> Iterator[Prompt]:
    """One; or one for each item, where they are asked apart."""
    variant = configuration.variant
    asked = probes.varied(asked_of(configuration, questionnaire, material), variant)
    scope = scope_of(questionnaire, moment, asked.language)
    version = template_version("judge", asked.language) + (
        f"{probes.SIGN}{variant}/{probes.version()}" if variant else ""
    )
    for items in [[item] for item in asked.items] if variant == probes.APART else [asked.items]:
        states = material.states if configuration.strategy == "state_aware" else None
        messages = judge_messages(
            asked.turns,
            items,
            language=asked.language,
            profile=material.profile,
            states=[states[turn.number] for turn in material.turns if turn.number in states] if states else (),
            scope=scope,
            notes=asked.notes,
        )
        yield Prompt(messages, items, asked.language, version)


def version_of(variant: str, language: str) -> str:
    """`judge.en/1`; of a variant also which, and the version of the probes' own texts: `judge.en/1~padding/1.1`."""
    template = template_version("judge", language)
    return f"{template}{probes.SIGN}{variant}/{probes.version()}" if variant else template


def asked_of(configuration: Configuration, questionnaire: Questionnaire, material: Material) -> Asked:
    """What the plain judge is asked, in the language of the variant."""
    language = probes.prompt_language(configuration.variant, material.language)
    return Asked(
        instrument=questionnaire.id,
        turns=material.turns,
        items=judged_items(questionnaire, language),
        language=language,
        spoken=material.language,
        supporter=material.run.model,
    )
