"""Answers of a bot to any form: those of a person who is eligible, agrees, and has understood. Pure."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dialogue.demonstration.judges import HUMAN_NOISE, planted_quality, planted_score
from studies.bots.page_reader import Field, Form
from studies.bots.stories import STORIES, Story
from studies.design.plan import TOPIC_QUESTIONS
from studies.instruments.definitions import DECLINED, Item, Questionnaire
from studies.instruments.forms import REASON
from studies.instruments.loading import instrument_ids, load

FACTORS = ("E", "A", "C", "N", "O")
MIRRORED = {"ES": "N"}  # Emotional Stability of the 50 markers is Neuroticism from its other end
KEEPS_TOPIC = 0.75
EXPERTS = ("counsellor", "reviewer")
LENIENCY = 0.5  # SD of how far they are above or below one another, in points of a 1–5 scale; others are all alike
ALIKE = 0.3  # two conversations whose difference is smaller, in z units, are a tie
CANNOT_TELL = 0.7  # the share of partners about whom a bot has no guess
OF_PARTNER = re.compile(r"run[0-9]+-")  # before the key of an item that a page asks of each partner
UNPLEASANT = ("anxiety", "sadness", "anger", "shame", "nervousness", "guilt", "loneliness")
PLEASANT = ("calm", "relief", "hope", "contentment")
EXPLAINED = 0.2  # the share of scores for which a bot says why
WHY = {"en": "It kept to what I had just said.", "zh": "回应扣住了我刚说的话。"}
CANDIDATE = "candidate-"  # before the fields of a row of an interview
MISSED = {
    "en": {"candidate-1-name": "Pacing", "candidate-1-definition": "Whether it leaves time to think."},
    "zh": {"candidate-1-name": "节奏", "candidate-1-definition": "是否留出思考的时间。"},
}
WORDS = {"en": "Nothing to add; it was clear to me.", "zh": "没有要补充的，我觉得很清楚。"}

Turns = Sequence[tuple[str, str]]


@dataclass
class Person:
    """A bot. Everything it does follows from its seed and its code."""

    code: str
    language: str
    seed: str
    track: str = "participant"
    talks: list[Turns] = field(default_factory=list)  # each conversation as the bot itself saw it
    before: dict[str, str] = field(default_factory=dict)  # its answers in the last feelings check before a chat

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.traits = {factor: min(5.0, max(1.0, self.draw.gauss(3.1, 0.8))) for factor in FACTORS}
        self.story = self.draw.choice(STORIES[self.language])
        self.leniency = random.Random(f"leniency {self.seed}").gauss(0, LENIENCY) if self.track in EXPERTS else 0.0

    def last_talk(self) -> Turns:
        return self.talks[-1] if self.talks else ()


def answer(form: Form, person: Person) -> dict[str, str]:
    """Return the values to send: hidden fields as they are, and an answer to each visible field."""
    questionnaire = recognise_questionnaire(form)
    answers: dict[str, str] = {}
    for name, one in form.visible_fields().items():
        if form.is_shown(name, answers):
            value = _answer(name, one, _item_for(name, questionnaire), questionnaire, person, form)
            if value and one.options and value not in one.options:  # two questionnaires have the same keys
                value = _choose(one, person)
            if value:
                answers[name] = value
    if questionnaire and questionnaire.id == "emotion_checkin" and "perceived_change" not in answers:
        person.before = answers
    return form.hidden_values() | answers


def recognise_questionnaire(form: Form) -> Questionnaire | None:
    """Return the instrument that matches most of these questions; None for another kind of form."""
    questions = {key_of(name) for name in form.visible_fields() if not name.startswith(REASON)}
    fitting = [(len(questions & keys), -len(keys), name) for name, keys in _keys_by_id() if questions & keys]
    if not fitting:
        return None
    matches, _, name = max(fitting)
    return load(name) if 2 * matches >= len(questions) else None


def _item_for(field: str, questionnaire: Questionnaire | None) -> Item | None:
    items = questionnaire.items if questionnaire else ()
    return next((item for item in items if item.key == key_of(field)), None)


def key_of(field: str) -> str:
    return OF_PARTNER.sub("", field)


def _keys_by_id() -> Iterator[tuple[str, frozenset[str]]]:
    return ((name, _keys_of(load(name))) for name in instrument_ids())


@cache
def _keys_of(questionnaire: Questionnaire) -> frozenset[str]:
    return frozenset(item.key for item in questionnaire.items)


def _answer(
    name: str, field: Field, item: Item | None, questionnaire: Questionnaire | None, person: Person, form: Form
) -> str:
    if name.startswith(CANDIDATE):
        return _candidate(name, person)
    if field.kind == "checkbox":
        return field.options[0]
    if name.startswith(REASON):
        return _why(name, person)
    if name == "language" and person.language in field.options:
        return person.language
    if item is None or questionnaire is None:
        return _anything(field, person)
    if item.instructed is not None:
        return str(item.instructed)
    if questionnaire.id == "screening":
        return _eligible(item, field, questionnaire, person)
    if questionnaire.kind == "quiz":
        return _right(item, questionnaire)
    if questionnaire.id == "profile":
        return _about(item, field, person)
    if questionnaire.id in TOPIC_QUESTIONS.values():
        return _next_topic(item, person)
    if questionnaire.id == "blinding" and item.key == "guess":
        return _guess(field, person)
    if questionnaire.id == "emotion_checkin":
        return _feeling(item, field, person, after="perceived_change" in form.fields)
    if questionnaire.id == "de_roling":
        return _out_of_role(item, field, person)
    if item.type == "scale" and questionnaire.kind == "rating_scale":
        return _rating(item, person)
    if questionnaire.kind == "pairwise" and item.options:
        return _preference(person)
    if item.type == "scale" and item.scale in (*FACTORS, *MIRRORED):
        return _self_rating(item, person)
    return _anything(field, person)


def _rating(item: Item, person: Person) -> str:
    low, high = _bounds(item)
    return str(
        planted_score(
            person.last_talk(),
            item=item.key,
            rater=person.code,
            noise=HUMAN_NOISE,
            leniency=person.leniency,
            minimum=low,
            maximum=high,
        )
    )


def _preference(person: Person) -> str:
    """Return the transcript with more planted quality, seen through noise; if they are alike, neither."""
    first, second = map(planted_quality, person.talks[-2:])
    difference = first - second + person.draw.gauss(0, HUMAN_NOISE)
    if abs(difference) < ALIKE:
        return "tie"
    return "first" if difference > 0 else "second"


def _why(name: str, person: Person) -> str:
    """Return a reason for some of the scores. It is drawn separately, so that other answers do not depend on it."""
    draw = random.Random(f"{person.seed} {len(person.talks)} {name}")
    return WHY[person.language] if draw.random() < EXPLAINED else ""


def _self_rating(item: Item, person: Person) -> str:
    """Return a self-rating; reverse-keyed items are reversed, as by people who read them."""
    mirrored = item.scale in MIRRORED
    low, high = _bounds(item)
    trait = person.traits[MIRRORED.get(item.scale, item.scale)]
    if item.reverse != mirrored:
        trait = low + high - trait
    return _clamp(trait + person.draw.gauss(0, 0.5), low, high)


def _right(item: Item, quiz: Questionnaire) -> str:
    questions = [*quiz.raw.get("questions", ()), *quiz.raw.get("expert_questions", ())]
    return str(next(question["answer"] for question in questions if question["id"] == item.key))


# Screening: any answer to which no rule of the file objects.


def _eligible(item: Item, field: Field, screening: Questionnaire, person: Person) -> str:
    if item.type == "text":
        return person.story.matter
    if item.type == "country":
        return field.value or _choose(field, person)
    if item.key == "issue_category":
        return person.story.topic
    fit = [value for value in _possible(item, field, person) if not _is_objected(item.key, value, screening)]
    return str(person.draw.choice(fit))


def _possible(item: Item, field: Field, person: Person) -> list[Any]:
    if item.type == "integer":
        return [person.draw.randint(20, 64)]
    if item.type == "scale":
        low, high = _bounds(item)
        return list(range(low, high + 1))
    return [value for value in field.options if value != DECLINED]


def _is_objected(key: str, value: Any, screening: Questionnaire) -> bool:
    return any(
        condition["q"] == key and _fires(condition["op"], value, condition["value"])
        for condition in (rule["if"] for rule in screening.raw["rules"])
    )


def _fires(op: str, value: Any, limit: Any) -> bool:
    if op in ("lt", "lte"):
        return bool(value < limit or (op == "lte" and value == limit))
    return value in limit if op == "in" else bool(value == limit)


# About themselves, and how they feel


def _about(item: Item, field: Field, person: Person) -> str:
    story: Story = person.story
    facts = {"occupation": story.occupation, "interests": story.interests, "topic": story.topic, "matter": story.matter}
    if item.key in facts:
        return facts[item.key][: item.maximum_length]
    if item.type == "text":
        return ""
    return _choose(field, person)


def _next_topic(item: Item, person: Person) -> str:
    """Return the next topic: most keep theirs, others tell another story from then on."""
    if item.key == "topic_change":
        return "keep" if person.draw.random() < KEEPS_TOPIC else "change"
    person.story = person.draw.choice([story for story in STORIES[person.language] if story is not person.story])
    return person.story.matter[: item.maximum_length or 200]


def _feeling(item: Item, field: Field, person: Person, *, after: bool) -> str:
    """Return a feeling: low before a conversation; after it, raised by the conversation's quality."""
    if item.key == "want_support":
        return "no"
    if item.key == "primary_emotion":
        return _emotion(field, person, lifted=_lift(person) if after else 0.0)
    if item.type != "scale":
        return ""
    low, high = _bounds(item)
    return _clamp((_felt_after if after else _felt_before)(item.key, person), low, high)


def _lift(person: Person) -> float:
    """Return the change by the conversation in points of a 1–5 scale, about −1 to 2."""
    return 0.4 + 0.7 * planted_quality(person.last_talk()) + person.draw.gauss(0, 0.5)


def _emotion(field: Field, person: Person, *, lifted: float) -> str:
    emotion = person.before.get("primary_emotion", "")
    if lifted < 1.0 and emotion in field.options and person.draw.random() < 0.6:
        return emotion
    return person.draw.choice([word for word in (PLEASANT if lifted >= 1.0 else UNPLEASANT) if word in field.options])


def _felt_before(key: str, person: Person) -> float:
    middle = {"intensity": 3.8, "valence": 3.0, "arousal": 6.0}[key]
    return person.draw.gauss(middle, 0.8)


def _felt_after(key: str, person: Person) -> float:
    lift = _lift(person)
    if key == "perceived_change":
        return 3 + lift
    if key == "intensity_of_pre_emotion":
        return float(person.before.get("intensity", 4)) - lift
    if key == "intensity":
        return float(person.draw.gauss(3.2, 0.8))
    if key == "valence":
        return float(person.before.get("valence", 3)) + 1.5 * lift
    return float(person.before.get("arousal", 6)) - 0.7 * lift


def _out_of_role(item: Item, field: Field, person: Person) -> str:
    """Return the answers of a person who plays and leaves a role easily."""
    easily = {"role_left": 4.6, "role_stays": 1.5}
    if item.key not in easily:
        return _feeling(item, field, person, after=True)
    return _clamp(person.draw.gauss(easily[item.key], 0.5), *_bounds(item))


def _guess(field: Field, person: Person) -> str:
    """Return the guessed arm of a partner: mostly "cannot tell", else a random one."""
    *arms, unsure = field.options
    return unsure if person.draw.random() < CANNOT_TELL else person.draw.choice(arms)


# One missed dimension, the same in each language


def _candidate(name: str, person: Person) -> str:
    return MISSED[person.language].get(name, "")


# Anything else


def _anything(field: Field, person: Person) -> str:
    if field.kind in ("text", "textarea"):
        return WORDS[person.language] if field.kind == "textarea" else ""
    return _choose(field, person)


def _choose(field: Field, person: Person) -> str:
    options = [value for value in field.options if value and value != DECLINED]
    return person.draw.choice(options) if options else field.value


def _bounds(item: Item) -> tuple[int, int]:
    if item.minimum is None or item.maximum is None:
        raise ValueError(f"{item.key} has no bounds")
    return item.minimum, item.maximum


def _clamp(value: float, low: int, high: int) -> str:
    return str(min(high, max(low, round(value))))
