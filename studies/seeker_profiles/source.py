"""The answers of a person as the source of a profile: the input for the model, and what the profile must
not contain."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from dialogue.deidentification.identifiers import has_name
from dialogue.seekers.profile_checks import OwnAnswers
from dialogue.seekers.profile_writer import WriterInput
from dialogue.seekers.profiles import BIG_FIVE
from studies.instruments.definitions import Item
from studies.instruments.loading import load
from studies.instruments.scoring import score
from studies.models import Participation
from studies.participation.responses import answers_of

BIG_FIVE_INSTRUMENTS = ("mini_ipip", "ipip_bfm_50")
DECLINED = ("prefer_not", "none")
SELF_DESCRIBED = "self_described"
OWN_TEXTS = ("gender_self_described", "occupation", "interests", "matter", "avoid", "issue_text")
ANSWER_KEYS = ("topic", "status", "goal", "matter", "issue_text", "interests", "avoid")
CHOICE_KEYS = ("gender", "relationship")  # of D, as they were chosen
OPEN_BAND = 15  # years that "65 or over" is taken to last
ALIASES = {
    "en": ("Robin", "Alex", "Quinn", "Rowan", "Casey", "Morgan", "Jules", "Marlow", "Avery", "Ellis", "Noa", "Remy"),
    "zh": ("小禾", "阿遥", "小棠", "阿宁", "小舟", "阿岚", "小溪", "阿砚", "小荞", "阿澄", "小洲", "阿棋"),
}
EMPLOYER = {
    "en": re.compile(r"\s+at\s.*$|\s+(?:for|in|of|near)\s+(?:the\s+)?[A-Z].*$|[,;(@].*$"),
    "zh": re.compile(
        r"^在.*?(?:做|当|任)|^.{2,}?(?:公司|集团|大学(?!生)|学院|医院|银行|中学|小学)(?:里)?(?:的|做|当|任)?|[，,;；（(@].*$"
    ),
}


@dataclass(frozen=True)
class ProfileSource:
    """The source of a profile. `answered` goes to the model, `own` to the checks."""

    answered: WriterInput
    own: OwnAnswers


def profile_source(person: Participation) -> ProfileSource:
    """Return the source of a person's profile.

    It is the same each time, so that a repeated question finds its answer in the ledger.
    """
    answers, big_five = profile_answers(person), big_five_of(person)
    words = answers_in_words(answers, person.language)
    ages = ages_of(str(answers.get("age_band", "")))
    texts = [str(answers[key]) for key in OWN_TEXTS if key in answers]
    called = [str(answers["nickname"])] if "nickname" in answers else []
    draw = Random(f"profile of {person.code}")
    demographics = {
        "alias": alias(draw, person.language, [*called, *texts]),
        **({"age": draw.choice(ages)} if ages else {}),
        **{key: words[key] for key in ("gender", "occupation", "relationship") if key in words},
    }
    return ProfileSource(
        WriterInput(
            language=person.language,
            demographics=demographics,
            category=words.get("topic", ""),
            big_five=big_five,
            answers={key: words[key] for key in ANSWER_KEYS if key in words},
        ),
        OwnAnswers(
            names=tuple(called),
            texts=tuple(texts),
            demographics={key: demographics[key] for key in CHOICE_KEYS if key in demographics},
            big_five={factor: float(big_five[factor]) for factor in BIG_FIVE if factor in big_five},
            ages=ages,
        ),
    )


def profile_answers(person: Participation) -> dict[str, str | float]:
    """Return the answers of the profile page by item, and from the screening only what they want to talk about."""
    screening, profile = answers_of(person, "screening"), answers_of(person, "profile")
    answers = {"topic": screening.get("issue_category", ""), "issue_text": screening.get("issue_text", "")}
    answers |= {key: value for key, value in profile.items() if value not in DECLINED}
    return {key: value for key, value in answers.items() if value not in ("", *DECLINED)}


def answers_in_words(answers: Mapping[str, str | float], language: str) -> dict[str, str]:
    items = {item.key: item for item in load("profile").items}
    words = {key: answer_words(items.get(key), value, language) for key, value in answers.items()}
    if answers.get("gender") == SELF_DESCRIBED:
        words["gender"] = words.get("gender_self_described", "")
    if "occupation" in words:
        words["occupation"] = kind_of_work(words["occupation"], language)
    return {key: text for key, text in words.items() if text}


def answer_words(item: Item | None, value: str | float, language: str) -> str:
    option = item.option(value) if item else None
    return option.text[language] if option else str(value)


def kind_of_work(text: str, language: str) -> str:
    """Return the occupation without the employer, if its wording tells: "nurse at St Mary's" is a nurse."""
    return EMPLOYER[language].sub("", text.strip()).strip()


def ages_of(band: str) -> range | None:
    """Return the ages of a band such as `25_34` or `65_plus`; None if none was given."""
    bounds = re.fullmatch(r"(\d+)_(?:(\d+)|plus)", band)
    if bounds is None:
        return None
    first = int(bounds[1])
    return range(first, (int(bounds[2]) if bounds[2] else first + OPEN_BAND) + 1)


def alias(draw: Random, language: str, texts: Sequence[str]) -> str:
    """Return an alias that does not occur in the person's texts."""
    unused = [name for name in ALIASES[language] if not any(has_name(text, name) for text in texts)]
    return draw.choice(unused or ALIASES[language])


def big_five_of(person: Participation) -> dict[str, str | float]:
    """Return the Big Five as in P: the file that scores it, and the mean of each factor with enough answers; empty
    without any."""
    for instrument in BIG_FIVE_INSTRUMENTS:
        scores = {each.scale: each.score for each in score(load(instrument), answers_of(person, instrument))}
        means = {factor: round(mean, 2) for factor in BIG_FIVE if (mean := scores.get(factor)) is not None}
        if means:
            return {"scale": f"1-5 mean, as scored by {instrument}.json", **means}
    return {}
