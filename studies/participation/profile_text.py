"""A person's profile in words for a supporter or a judge: their own answers, no name."""

from dialogue.judges.fields import BIG_FIVE, CONCERN, DEMOGRAPHICS, PERSONALITY, ProfileLine, text_of
from studies.instruments.definitions import Item
from studies.instruments.loading import load
from studies.instruments.scoring import score
from studies.models import Answer, Participation
from studies.participation.responses import answers_of

LEFT_OUT = ("nickname",)
FIELDS = {  # of the profile page
    DEMOGRAPHICS: ("age_band", "gender", "gender_self_described", "occupation", "relationship"),
    PERSONALITY: ("interests",),
    CONCERN: ("topic", "matter", "status", "goal", "avoid"),
}
FIELD_OF = {item: field for field, items in FIELDS.items() for item in items}


def profile_text(participation: Participation) -> str:
    """Return the profile, one line for each answer; empty without answers to profile or Big Five."""
    return text_of(profile_lines(participation))


def profile_lines(participation: Participation) -> list[ProfileLine]:
    """Return the lines of `profile_text`, each with its field."""
    language = participation.language
    answers = {
        answer.item: answer
        for answer in Answer.objects.filter(
            response__rater__participation=participation, response__instrument="profile", missing_reason=""
        )
    }
    lines = [
        ProfileLine(
            FIELD_OF.get(item.key, ""),
            f"{(item.label or item.text)[language]}: {answer_in_words(item, answers[item.key], language)}",
        )
        for item in load("profile").items
        if item.key in answers and item.key not in LEFT_OUT
    ]
    return [*lines, *(ProfileLine(BIG_FIVE, text) for text in big_five_lines(participation))]


def answer_in_words(item: Item, answer: Answer, language: str) -> str:
    if answer.value is not None:
        return f"{answer.value:g}"
    return next((option.text[language] for option in item.options if option.value == answer.text), answer.text)


def big_five_lines(participation: Participation) -> list[str]:
    lines = []
    for instrument in ("mini_ipip", "ipip_bfm_50"):
        answers = answers_of(participation, instrument)
        if not answers:
            continue
        questionnaire = load(instrument)
        labels = {scale.key: scale.label[participation.language] for scale in questionnaire.scales}
        lines += [
            f"{labels.get(scored.scale, scored.scale)}: {scored.score:.2f} (1–5)"
            for scored in score(questionnaire, answers)
            if scored.score is not None
        ]
    return lines
