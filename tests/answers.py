"""What a person answers who fits the study, agrees, and is of middling opinion."""

from studies.instruments.loading import load

ELIGIBLE = {
    "age": "30",
    "country": "US",
    "language": "en",
    "fluency": "5",
    "llm_experience": "weekly",
    "llm_support_use": "no",
    "issue_category": "work",
    "issue_text": "My manager moved me to another team without a word. I feel pushed aside and would like to be heard.",
    "issue_bearable": "5",
    "in_crisis": "no",
    "suicidal_2w": "no",
    "attempt_12m": "no",
    "acute_condition": "no",
    "treatment": "no",
    "support_person": "yes",
    "availability": "yes",
    "previous": "no",
    "pro_qualification": "registered",
    "pro_hours": "1000p",
    "pro_supervision": "yes",
    "pro_roleplay": "5",
}
BOXES = ("adult", "understood", "ai", "sensitive_data", "cross_border", "safety_contact")
MOOD = {"primary_emotion": "sadness", "intensity": "4", "valence": "3", "arousal": "5", "want_support": "no"}
AFTER = {**MOOD, "intensity_of_pre_emotion": "2", "perceived_change": "4"}


def right_answers() -> dict[str, str]:
    raw = load("comprehension_check").raw
    return {question["id"]: question["answer"] for question in [*raw["questions"], *raw["expert_questions"]]}


def middle(instrument: str) -> dict[str, str]:
    """The first choice of every item, or 3 on its scale."""
    chosen = {}
    for item in load(instrument).items:
        if item.type == "scale":
            chosen[item.key] = "3"
        elif item.type == "single":
            chosen[item.key] = str(item.options[0].value)
    return chosen
