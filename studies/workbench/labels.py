"""Labels of stored values. A value without a label is shown as it is."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dialogue.judges.roles import BY_CODE
from dialogue.judges.strategies import get_strategies
from dialogue.providers.base import (
    BAD_CERTIFICATE,
    KEY_REFUSED,
    KEY_UNLISTED,
    KEY_UNSET,
    QUOTA_SPENT,
    REGION_REFUSED,
    WRONG_ADDRESS,
)
from dialogue.templatetags.languages import comma, in_brackets
from studies.instruments.countries import COUNTRIES
from studies.participation.language import instrument_language

Words = Mapping[str, str | Promise]

SEEKERS: Words = {
    "person": gettext_lazy("participant"),
    "counsellor": gettext_lazy("counsellor"),
    "simulated": gettext_lazy("simulated"),
    "imported": gettext_lazy("imported"),
}
MODELS: Words = {
    "arm": gettext_lazy("arm"),
    "judge": gettext_lazy("judge"),
    "seeker": gettext_lazy("simulated seekers"),
    "evaluator": gettext_lazy("evaluator of simulated seekers"),
    "second line": gettext_lazy("second line of the risk screen"),
}
CONDITIONS: Words = {"average": gettext_lazy("average"), "worst_case": gettext_lazy("worst case")}
STATES: Words = {
    "open": gettext_lazy("open"),
    "paused": gettext_lazy("paused for a rating"),
    "held": gettext_lazy("held for safety"),
    "closed": gettext_lazy("closed"),
}
ENDS: Words = {
    "finished": gettext_lazy("finished"),
    "early": gettext_lazy("ended early"),
    "walked_out": gettext_lazy("walked out"),
    "satisfied": gettext_lazy("satisfied"),
    "cap": gettext_lazy("most turns reached"),
    "safety": gettext_lazy("safety"),
    "technical": gettext_lazy("technical failure"),
    "withdrawn": gettext_lazy("withdrawn"),
}
OUTCOMES: Words = {  # of the screening
    "eligible": gettext_lazy("eligible"),
    "exclude": gettext_lazy("not eligible"),
    "exclude_with_care": gettext_lazy("not eligible, for safety"),
    "review_by_person": gettext_lazy("needs a person's decision"),
}
REASONS: Words = {  # of the screening's outcome, and its flags
    "safety": gettext_lazy("in danger now or lately"),
    "safety_unknown": gettext_lazy("did not answer a question about safety"),
    "unstable": gettext_lazy("a serious crisis of mental health in the last six months"),
    "unstable_unknown": gettext_lazy("did not answer the question about a serious crisis"),
    "treatment_changing": gettext_lazy("treatment has just begun or is changing, or is not told"),
    "not_experienced": gettext_lazy("too little experience as a counsellor"),
    "underage": gettext_lazy("under age"),
    "no_llm_experience": gettext_lazy("has never used AI chat programs"),
    "no_issue": gettext_lazy("nothing to talk about"),
    "issue_too_heavy": gettext_lazy("the trouble is too heavy to talk about several times"),
    "language": gettext_lazy("not fluent enough in the language"),
    "not_available": gettext_lazy("has no time or no private place"),
    "conflict_or_repeat": gettext_lazy("has taken part before, or works with the team"),
    "no_support_person": gettext_lazy("no one to call if upset"),
    "no_supervision": gettext_lazy("no supervision at present"),
    "role_play_uncomfortable": gettext_lazy("not comfortable in a role"),
}
SELECTIONS: Words = {
    "auto": gettext_lazy("by the screening alone"),
    "manual": gettext_lazy("by hand, after the screening"),
}
TOPICS: Words = {
    "keep": gettext_lazy("the same"),
    "change": gettext_lazy("another one"),
    "choose": gettext_lazy("chosen by the person"),
}
ORDERS: Words = {
    "williams": gettext_lazy("Williams design"),
    "blocks": gettext_lazy("random blocks"),
    "random": gettext_lazy("random"),
}
STRATA: Words = {
    "language": gettext_lazy("language"),
    "severity": gettext_lazy("severity"),
    "extraversion": gettext_lazy("extraversion"),
    "agreeableness": gettext_lazy("agreeableness"),
    "conscientiousness": gettext_lazy("conscientiousness"),
    "neuroticism": gettext_lazy("neuroticism"),
    "openness": gettext_lazy("openness"),
}
RATERS: Words = {
    "seeker": gettext_lazy("participant"),
    "expert": gettext_lazy("counsellor"),
    "reviewer": gettext_lazy("reviewer"),
    "crowd": gettext_lazy("crowd"),
    "judge": gettext_lazy("judge"),
    "simulated_seeker": gettext_lazy("simulated seeker"),
}
MOMENTS: Words = {
    "pre": gettext_lazy("before"),
    "post": gettext_lazy("after"),
    "turn": gettext_lazy("after a reply"),
    "checkpoint": gettext_lazy("at a checkpoint"),
    "final": gettext_lazy("at the end"),
}
MISSING: Words = {
    "not_answered": gettext_lazy("not answered"),
    "prefer_not": gettext_lazy("preferred not to answer"),
    "unparseable": gettext_lazy("the answer could not be read"),
    "missing": gettext_lazy("left out by the judge"),
    "not_an_integer": gettext_lazy("not a whole number"),
    "out_of_range": gettext_lazy("outside the scale"),
    "too_long": gettext_lazy("too long for the model"),
    "": gettext_lazy("no reason stored"),
}
PURPOSES: Words = {
    "reply": gettext_lazy("reply"),
    "judge": gettext_lazy("judgement"),
    "thinker": gettext_lazy("thoughts"),
    "seeker": gettext_lazy("simulated seeker"),
    "evaluator": gettext_lazy("rating of a simulated seeker"),
    "reviewer": gettext_lazy("check of the simulation"),
    "profile": gettext_lazy("profile"),
    "profile_check": gettext_lazy("check of a profile"),
    "check": gettext_lazy("check of a model"),
    "simulation": gettext_lazy("simulation"),
    "pairs": gettext_lazy("comparison in pairs"),
}
JOBS: Words = {  # as they are titled when they are planned
    "average seekers": gettext_lazy("average seekers"),
    "worst_case seekers": gettext_lazy("worst-case seekers"),
    "profiles from answers": gettext_lazy("profiles from answers"),
    "further profiles": gettext_lazy("further profiles"),
}
CALLS: Words = {
    "started": gettext_lazy("in progress"),
    "ok": gettext_lazy("answered"),
    "refused": gettext_lazy("refused"),
    "too_long": gettext_lazy("too long for the model"),
    "truncated": gettext_lazy("cut off"),
    "empty": gettext_lazy("empty"),
    "unparseable": gettext_lazy("could not be read"),
    "out_of_range": gettext_lazy("outside the scale"),
    "timeout": gettext_lazy("took too long"),
    "rate_limited": gettext_lazy("too many calls"),
    "client_error": gettext_lazy("request refused"),
    KEY_UNSET: gettext_lazy("key not set"),
    KEY_UNLISTED: gettext_lazy("key not allowed on this server"),
    KEY_REFUSED: gettext_lazy("key refused"),
    QUOTA_SPENT: gettext_lazy("quota or balance used up"),
    REGION_REFUSED: gettext_lazy("region refused"),
    WRONG_ADDRESS: gettext_lazy("wrong address"),
    BAD_CERTIFICATE: gettext_lazy("invalid certificate"),
    "server_error": gettext_lazy("fault of the server"),
    "network": gettext_lazy("no connection"),
    "stopped": gettext_lazy("stopped by emostudy"),
}
FAULTS: Words = {
    "role_flip": gettext_lazy("spoke as the supporter"),
    "profile_leak": gettext_lazy("revealed the hidden profile"),
    "persona_contradiction": gettext_lazy("contradicted its profile"),
    "repetition": gettext_lazy("repeated itself"),
    "over_compliance": gettext_lazy("agreed too readily"),
    "early_stop": gettext_lazy("stopped too early"),
    "stop_misuse": gettext_lazy("misused the closing words"),
}
FOUND_BY: Words = {"rule": gettext_lazy("by rule"), "reviewer": gettext_lazy("by a reviewing model")}
HOLDINGS: Words = {  # what an erasure removes, by the names of studies/data/holdings.py
    "calls": gettext_lazy("calls of models"),
    "job_items": gettext_lazy("parts of tasks"),
    "deliveries": gettext_lazy("deliveries to webhooks"),
    "alarms": gettext_lazy("alarms"),
    "safety_acts": gettext_lazy("steps in a safety event"),
    "risk_events": gettext_lazy("safety events"),
    "screen_reviews": gettext_lazy("reviews of the risk screen"),
    "turns": gettext_lazy("turns"),
    "inner_states": gettext_lazy("inner states"),
    "seeker_faults": gettext_lazy("faults of simulated seekers"),
    "flags": gettext_lazy("flagged replies"),
    "role_plays": gettext_lazy("role-plays"),
    "answers": gettext_lazy("answers"),
    "responses": gettext_lazy("forms sent"),
    "drafts": gettext_lazy("forms not sent yet"),
    "submissions": gettext_lazy("technical numbers of forms"),
    "verdicts": gettext_lazy("answers about pairs"),
    "comparisons": gettext_lazy("comparisons of pairs"),
    "pairs": gettext_lazy("pairs of conversations"),
    "reviews": gettext_lazy("second ratings"),
    "review_items": gettext_lazy("conversations planned for second raters"),
    "adjudications": gettext_lazy("settled differences between raters"),
    "passages": gettext_lazy("coded passages"),
    "interview_notes": gettext_lazy("notes on interviews"),
    "attachments": gettext_lazy("recordings and transcripts"),
    "interview_files": gettext_lazy("files of interviews"),
    "interviews": gettext_lazy("interviews"),
    "candidate_dimensions": gettext_lazy("candidate dimensions"),
    "decisions": gettext_lazy("decisions on leaving out data"),
    "board_acts": gettext_lazy("entries about acts on the board"),
    "questions": gettext_lazy("questions to the team"),
    "selection_scores": gettext_lazy("selection scores"),
    "selection_decisions": gettext_lazy("selection decisions"),
    "payees": gettext_lazy("ways of payment"),
    "seeker_profiles": gettext_lazy("seeker profiles"),
    "draws": gettext_lazy("draws of arms"),
    "consents": gettext_lazy("consents"),
    "raters": gettext_lazy("entries as a rater"),
    "runs": gettext_lazy("arms met"),
    "conversations": gettext_lazy("conversations"),
}
OWN_THINKER = "seeker"


def word(words: Words, key: str) -> str:
    return str(words.get(key, key))


def raters_name(raters: str) -> str:
    """Return the name of raters: `judge:standard` is all judges that saw the conversation alone as the seeker,
    `judge:standard:evaluator` those from outside, `expert:E1` one counsellor."""
    kind, _colon, which = raters.partition(":")
    name = word(RATERS, kind)
    return f"{name}{in_brackets(comma().join(map(part_name, which.split(':'))))}" if which else name


def part_name(part: str) -> str:
    """Return how raters are told apart from others of their kind, in words: by strategy or role."""
    return _(BY_CODE[part].label) if part in BY_CODE else strategy_name(part)


def strategy_name(strategy: str) -> str:
    """Return a strategy in words; any other text as it is."""
    known = get_strategies().get(strategy)
    return _(known.label) if known else strategy


def job_name(title: str) -> str:
    """Return the title of a job in the page's language, with its strategy or ablation in brackets."""
    name, space, rest = title.partition(" (")
    return f"{word(JOBS, name)}{in_brackets(strategy_name(rest.removesuffix(')')))}" if space else word(JOBS, name)


def country_name(code: str) -> str:
    """Return the name of a country in the page's language; a code that the list of countries lacks stays as it is."""
    return next((one.text[instrument_language()] for one in COUNTRIES if one.value == code), code)


def choices(words: Words) -> list[tuple[str, str]]:
    return [(key, str(text)) for key, text in words.items()]


def thinker(source: str) -> str:
    return _("the simulated seeker itself") if source == OWN_THINKER else _("judge %(key)s") % {"key": source}


def points(number: float) -> str:
    """Return a number with at most two decimals: 3.5, 4, 2.33."""
    return f"{round(number, 2):g}"


def with_sign(number: float) -> str:
    """Return a number with its sign: +1.5, −0.33, 0, with a real minus sign."""
    text = f"{round(number, 2) + 0.0:+g}".replace("-", "−")
    return "0" if text in ("+0", "−0") else text


def one_or_more(count: int, one: str, more: str) -> str:
    """Return the word for so many, of commands that speak English alone."""
    return one if count == 1 else more
