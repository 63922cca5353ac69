"""The prompts by which a judge is asked, word for word as they are sent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dialogue.deidentification.redaction import mark_version
from dialogue.judges import fields, probes
from dialogue.judges.probes import JudgeQuestion
from dialogue.judges.prompts import JudgedItem
from dialogue.judges.schemas import Schema, build_scores_format
from dialogue.judges.strategies import get_strategy
from dialogue.prompts import mark_digest
from dialogue.providers.base import Message
from studies.instruments.definitions import Questionnaire
from studies.judging.items import judged_items, scope_of
from studies.judging.material import Material
from studies.judging.settings import Configuration


@dataclass(frozen=True)
class Prompt:
    """`form`: the response format that the server is told; None where the form stands in the message alone. `redacted`:
    what was taken out of it, by kind."""

    messages: Sequence[Message]
    items: Sequence[JudgedItem]
    language: str  # of the standing text
    version: str  # as the ledger keeps it
    marked: str  # the same with the hash of the standing text, as ratings are exported
    form: Schema | None = None
    redacted: Mapping[str, int] = field(default_factory=dict)


def build_prompts(
    configuration: Configuration, questionnaire: Questionnaire, material: Material, *, moment: str
) -> Iterator[Prompt]:
    """Yield one prompt, or one for each item if they are asked apart."""
    variant, strategy = configuration.variant, get_strategy(configuration.strategy)
    left_out = fields.get_field_left_out(variant)
    material = material.without(left_out).as_sent()
    question = probes.apply_variant(build_judge_question(configuration, questionnaire, material), variant)
    scope = scope_of(worded_for(configuration, questionnaire), moment, question.language)
    standing = configuration.get_standing_text(question.language)
    version = mark_version(get_version(standing.label, variant), material.redacted)
    for items in [[item] for item in question.items] if variant == probes.APART else [question.items]:
        messages = strategy.build_messages(
            question.turns,
            items,
            language=question.language,
            profile=material.profile_text(),
            states=material.states_in_order(),
            scope=scope,
            notes=question.notes,
            without=left_out,
            standing=standing,
        )
        form = build_scores_format(items) if configuration.structured else None
        yield Prompt(
            messages, items, question.language, version, mark_digest(version, standing), form, material.redacted
        )


def get_version(label: str, variant: str) -> str:
    """Return `judge.en/1`; of a variant also which, and the version of the probes' own texts:
    `judge.en/1~padding/1.1`."""
    return f"{label}{probes.SIGN}{variant}/{probes.get_version()}" if variant else label


def worded_for(configuration: Configuration, questionnaire: Questionnaire) -> Questionnaire:
    """Return the questionnaire in the words for the judge's role."""
    return questionnaire.in_third_person if configuration.role.third_person else questionnaire


def build_judge_question(
    configuration: Configuration, questionnaire: Questionnaire, material: Material
) -> JudgeQuestion:
    """Return the question to the plain judge, in the language of the variant."""
    language = probes.prompt_language(configuration.variant, material.language)
    return JudgeQuestion(
        instrument=questionnaire.id,
        turns=material.turns,
        items=judged_items(worded_for(configuration, questionnaire), language),
        language=language,
        spoken=material.language,
        supporter=material.run.model,
    )
