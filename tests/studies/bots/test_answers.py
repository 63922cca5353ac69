import pytest
from django.template.loader import render_to_string

from dialogue.demonstration.judges import HUMAN_NOISE, planted_score
from studies.bots.answers import FACTORS, Person, answer, recognise_questionnaire
from studies.bots.page_reader import Form, read_page
from studies.instruments.definitions import Option
from studies.instruments.eligibility import outcome
from studies.instruments.forms import InstrumentForm, form_for
from studies.instruments.loading import load
from studies.instruments.quiz import mark
from studies.instruments.scoring import score
from studies.steps.blinding import repeat_for_partners
from tests.dialogue.conversations import conversation

ASKED = ("screening", "comprehension_check", "profile", "mini_ipip", "ipip_bfm_50", "emoharbor_10", "worst_case_4",
         "turn_checkpoint", "between", "reply_rating")  # fmt: skip
VALUES = {"duration_total": "an hour", "days": "14"}


def person(seed: int = 1, language: str = "en", track: str = "participant") -> Person:
    return Person(f"P{seed}", language, str(seed), track)


def empty(instrument: str, who: Person, **fields: object) -> InstrumentForm:
    return form_for(load(instrument), language=who.language, track=track_of(who), values=VALUES, order_seed=1, **fields)  # type: ignore[arg-type]


def track_of(who: Person) -> str:
    return "expert" if who.track == "counsellor" else "participant"


def on_page(form: InstrumentForm) -> Form:
    found = read_page(render_to_string("components/form.html", {"form": form, "step": "here"})).step_form()
    assert found is not None
    return found


def answered(instrument: str, who: Person, **fields: object) -> InstrumentForm:
    """The form as the server reads what the bot sends for it."""
    sent = answer(on_page(empty(instrument, who, **fields)), who)
    return empty(instrument, who, **fields, data=sent)


@pytest.mark.parametrize("track", ["participant", "counsellor"])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("instrument", ASKED)
def test_every_form_is_recognised_and_accepted(instrument: str, language: str, track: str) -> None:
    for seed in range(5):
        who = person(seed, language, track)
        form = answered(instrument, who)
        assert form.errors == {}
        assert recognise_questionnaire(on_page(empty(instrument, who))) == load(instrument)


@pytest.mark.parametrize("track", ["participant", "counsellor"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_screening_finds_every_bot_eligible(language: str, track: str) -> None:
    for seed in range(30):
        who = person(seed, language, track)
        form = answered("screening", who, earlier={"country": "DE", "language": language})
        assert form.is_valid()
        given = form.given_answers()
        decided = outcome(load("screening"), given, track=track_of(who), language=language)  # type: ignore[arg-type]
        assert (decided.kind, decided.reasons) == ("eligible", ())
        assert (given["language"], given["country"]) == (language, "DE")


@pytest.mark.parametrize("track", ["participant", "counsellor"])
def test_quiz_is_answered_right(track: str) -> None:
    who = person(3, track=track)
    form = answered("comprehension_check", who)
    assert form.is_valid()
    assert mark(load("comprehension_check"), form.given_answers(), track=track_of(who)).wrong == ()


@pytest.mark.parametrize(("instrument", "slack"), [("mini_ipip", 0.75), ("ipip_bfm_50", 0.6)])
def test_reverse_keyed_items_agree_with_the_others(instrument: str, slack: float) -> None:
    for seed in range(10):
        who = person(seed)
        form = answered(instrument, who)
        assert form.is_valid()
        scores = {one.scale: one.score for one in score(load(instrument), form.given_answers())}  # type: ignore[arg-type]
        assert {factor: scores[factor] for factor in FACTORS} == pytest.approx(who.traits, abs=slack)


@pytest.mark.parametrize("instrument", ["emoharbor_10", "turn_checkpoint", "worst_case_4"])
def test_ratings_are_what_was_planted_in_the_talk_that_the_bot_saw(instrument: str) -> None:
    who = person()
    who.talks = [conversation("formula", "en", 1), conversation("attuned", "en", 2)]
    form = answered(instrument, who)
    assert form.is_valid()
    scales = [item.key for item in load(instrument).items if item.type == "scale"]
    assert {key: form.cleaned_data[key] for key in scales} == {
        key: planted_score(who.talks[1], item=key, rater=who.code, noise=HUMAN_NOISE) for key in scales
    }


def checked_in(who: Person, name: str) -> tuple[dict, dict]:
    """The bot's feelings before and after a conversation."""
    before = answered("emotion_checkin", who, phase="pre")
    assert before.is_valid()
    who.talks = [conversation(name, "en", int(who.seed))]
    earlier = {f"pre.{key}": given for key, given in before.given_answers().items()}
    after = answered("emotion_checkin", who, phase="post", earlier=earlier)
    assert after.is_valid()
    return before.cleaned_data, after.cleaned_data


def test_feelings_improve_with_the_quality_of_the_talk() -> None:
    changes = {}
    for name in ("formula", "attuned"):
        pairs = [checked_in(person(seed), name) for seed in range(40)]
        changes[name] = sum(after["perceived_change"] for _, after in pairs) / len(pairs)
        assert {one["want_support"] for pair in pairs for one in pair} == {"no"}
    assert changes["attuned"] - changes["formula"] > 0.8


def test_form_of_no_instrument_is_answered_with_what_it_offers() -> None:
    html = """<form><input type="hidden" name="step" value="consent">
    <input type="checkbox" name="b1"><input type="checkbox" name="b2" value="yes">
    <input type="radio" name="guess" value="prefer_not"><input type="radio" name="guess" value="amber">
    <textarea name="say"></textarea></form>"""
    form = read_page(html).step_form()
    assert form is not None
    assert recognise_questionnaire(form) is None
    assert answer(form, person()) == {
        "step": "consent", "b1": "on", "b2": "yes", "guess": "amber", "say": "Nothing to add; it was clear to me."
    }  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_language_is_the_bots_own(language: str) -> None:
    html = '<form><input type="hidden" name="step" value="language"><button name="language" value="en"></button>'
    form = read_page(html + '<button name="language" value="zh"></button></form>').step_form()
    assert form is not None
    assert answer(form, person(language=language)) == {"step": "language", "language": language}


def test_most_keep_their_topic_and_the_others_tell_another_story() -> None:
    kept = 0
    for seed in range(100):
        who = person(seed)
        story = who.story
        form = answered("between", who)
        assert form.is_valid()
        keeps = form.cleaned_data["topic_change"] == "keep"
        assert keeps == (who.story is story)
        kept += keeps
    assert 60 <= kept <= 90


ARMS = [Option(str(place), {"en": f"System {place}", "zh": f"系统 {place}"}) for place in range(1, 6)]


def guesses(who: Person) -> dict[str, str | int]:
    """What a bot is taken to have said of five partners."""
    asked = repeat_for_partners(load("blinding"), range(1, 6), ARMS)
    page = on_page(form_for(asked, language=who.language))
    assert recognise_questionnaire(page) == load("blinding")
    form = form_for(asked, language=who.language, data=answer(page, who))
    assert form.errors == {}
    return form.given_answers()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_partners_are_guessed_mostly_not_at_all(language: str) -> None:
    given = [guesses(person(seed, language)) for seed in range(40)]
    said = [one[f"run{run}-guess"] for one in given for run in range(1, 6)]
    assert 0.6 < said.count("cannot_tell") / len(said) < 0.8
    assert set(said) == {"cannot_tell", "1", "2", "3", "4", "5"}
    assert given == [guesses(person(seed, language)) for seed in range(40)]


def test_bot_that_saw_no_talk_still_rates() -> None:
    assert answered("emoharbor_10", person()).is_valid()
