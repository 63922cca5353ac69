"""Role cards and the counsellors' block plan, from files to people: who gets what, and what becomes of it."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html import unescape
from io import StringIO
from pathlib import Path
from threading import Barrier

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from studies.allocation.card_blocks import plan_of, shown_rows
from studies.data import erasure
from studies.design.behaviours import behaviour_keys, presets
from studies.design.card_files import read_cards
from studies.design.reading import INSTRUMENTS
from studies.design.spec import OrderSpec
from studies.models import Arm, Card, Participation, RolePlay, Study
from studies.participation import enrolment, progress
from studies.participation.chats import get_or_open_run
from studies.setup import cards
from studies.setup.storage import load_spec
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db

DEMO = INSTRUMENTS / "seeker_profiles_demo.json"
ROWS = 7  # counsellors of the block plan of `shared`; five arms with three raters make rows of two and three
EN = [f"en0{number}" for number in range(1, 7)]


def shared(**changes) -> Study:
    """The demo study with a block plan for its counsellors."""
    order = OrderSpec("blocks", None, 1, counsellors=ROWS, raters_per_arm=3)
    return factories.study("shared", order=order, **changes)


def counsellor(study: Study, **fields) -> Participation:
    """One who comes to the conversations next, and gets arms and cards."""
    plan = [{"kind": "debrief", "key": "before"}, {"kind": "chats", "key": "chats"}]
    person = factories.person(study, **{"track": "counsellor", "plan": plan, "order": [], **fields})
    progress.advance(person, done=person.steps()[0])
    return person


def written(folder: Path, change=lambda profiles: None) -> Path:
    document = json.loads(DEMO.read_text(encoding="utf-8"))
    change(document["profiles"])
    path = folder / "cards.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def imported(path: Path) -> dict:
    out = StringIO()
    call_command("import_cards", "demo", str(path), "--json", verbosity=0, stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


# Files


def test_load_study_brings_the_cards_that_it_names():
    study = factories.study()
    assert [card.key for card in study.cards.all()] == [*EN, *(key.replace("en", "zh") for key in EN)]
    assert study.cards.get(key="zh01").profile["D"]["alias"] == "小满"


def test_cards_beside_the_study_file_are_loaded(tmp_path, settings):
    text = (settings.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8")
    written(tmp_path, lambda profiles: [profile.update(id=f"own-{profile['id']}") for profile in profiles])
    (tmp_path / "study.toml").write_text(text.replace('"seeker_profiles_demo"', '"cards"'), encoding="utf-8")

    call_command("load_study", str(tmp_path / "study.toml"), verbosity=0)

    assert Card.objects.filter(key__startswith="own-").count() == Card.objects.count() == 12


def test_loading_a_study_again_keeps_what_was_changed_on_the_workbench():
    study = factories.study()
    study.cards.filter(key="en01").update(intensities={"resistance": 3})
    study.cards.filter(key="en02").delete()

    stored = load_spec(factories.demo_spec()).cards

    assert (stored.added, stored.changed, stored.unchanged, stored.kept) == (1, 0, 10, 1)
    assert study.cards.get(key="en01").intensities == {"resistance": 3}


def test_import_adds_changes_and_leaves_alone(tmp_path):
    study = factories.study()
    study.cards.filter(key="en02").delete()
    file = written(tmp_path, lambda profiles: profiles[0]["S"].update(opening="hello"))
    counted = {"study": "demo", "added": 1, "changed": 1, "unchanged": 10}

    assert imported(file) == counted
    assert imported(file) == {**counted, "added": 0, "changed": 0, "unchanged": 12}
    assert study.cards.get(key="en01").profile["S"]["opening"] == "hello"


def test_import_with_a_fault_changes_nothing(tmp_path):
    factories.study()
    before = list(Card.objects.order_by("pk").values())

    def spoil(profiles):
        profiles[0]["S"]["opening"] = "hello"
        del profiles[2]["S"]["opening"], profiles[3]["lang"]

    file = written(tmp_path, spoil)
    with pytest.raises(CommandError) as refused:
        imported(file)

    assert refused.value.returncode == 2
    assert str(refused.value).splitlines() == [
        f"{file}: profiles[3].S.opening: is missing",
        f"{file}: profiles[4].lang: is missing",
    ]
    assert list(Card.objects.order_by("pk").values()) == before


def test_changed_card_leaves_alone_what_was_given_out(tmp_path):
    study = factories.study()
    run = get_or_open_run(counsellor(study), 1)
    given = RolePlay.objects.get(run=run).card

    cards.store_cards(study=study, cards=[replace(each, intensities={"resistance": 3}) for each in read_cards(DEMO)])

    assert RolePlay.objects.get(run=run).card == given
    assert study.cards.get(key=run.card).intensities != given["intensities"]


# Cards without a block plan


def test_cards_are_drawn_evenly_in_the_persons_language():
    study = factories.study()
    people = [counsellor(study, language=language) for language in ("en", "zh", "en", "en", "zh", "en", "en", "en")]
    for language in ("en", "zh"):
        drawn = Counter(key for person in people if person.language == language for key in person.cards)
        assert set(drawn) == set(study.cards.filter(language=language).values_list("key", flat=True))
        assert max(drawn.values()) - min(drawn.values()) <= 1
    assert all(len(set(person.cards)) == len(person.order) == 5 for person in people)


def test_cards_of_test_data_are_counted_by_themselves():
    study = factories.study()
    first = counsellor(study, is_test=True)
    assert counsellor(study).cards == first.cards


def test_card_comes_twice_only_when_all_have_come():
    study = factories.study()
    study.cards.filter(language="en").exclude(key__in=EN[:2]).update(retired=True)
    given = counsellor(study).cards
    assert sorted(given[:2]) == sorted(given[2:4]) == EN[:2]
    assert given[4] in EN[:2]


def test_participants_play_nobody():
    person = counsellor(factories.study(), track="participant")
    assert (len(person.order), person.cards) == (5, [])
    assert not RolePlay.objects.filter(run=get_or_open_run(person, 1)).exists()


def test_participants_of_a_study_with_a_block_plan_meet_all_arms_as_ever():
    study = shared()
    counsellor(study)
    person = counsellor(study, track="participant")
    assert (sorted(person.order), person.order_index) == (["amber", "birch", "cedar", "delta", "ember"], 0)


# The conversation


def test_conversation_keeps_card_profile_condition_and_a_copy():
    study = factories.study()
    person = counsellor(study)
    for position, key in enumerate(person.cards, 1):
        card = study.cards.get(key=key)
        run = get_or_open_run(person, position)
        assert (run.card, run.profile, run.condition) == (key, key, "worst_case")
        assert run.role_play.card == card.as_given()
        assert run.role_play.card["intensities"] == card.intensities


def test_condition_is_average_without_two_marked_behaviours():
    study = factories.study()
    study.cards.update(intensities={"resistance": 3, "low_engagement": 1})
    assert get_or_open_run(counsellor(study), 1).condition == "average"


def test_counsellor_without_a_card_still_plays_somebody():
    study = factories.study()
    study.cards.all().delete()
    run = get_or_open_run(counsellor(study), 1)
    assert (run.card, run.condition, run.role_play.card) == ("", "", {})


def test_card_that_was_drawn_is_given_although_it_has_been_retired_since():
    study = factories.study()
    person = counsellor(study)
    study.cards.update(retired=True)
    assert get_or_open_run(person, 1).card == person.cards[0]


# The block plan


def test_counsellors_take_the_rows_of_the_plan_one_after_the_other():
    study = shared()
    people = [counsellor(study) for _ in range(ROWS)]
    plan = plan_of(study.current(), block=0, language="en")
    assert [(person.order_index, person.order, person.cards) for person in people] == [
        (number, [place.arm for place in row], [place.card for place in row]) for number, row in enumerate(plan)
    ]


def test_plan_has_each_arm_three_times_and_its_runs():
    study = shared()
    people = [counsellor(study) for _ in range(ROWS)]
    met = Counter(arm for person in people for arm in person.order)
    assert met == dict.fromkeys(["amber", "birch", "cedar", "delta", "ember"], 3)
    for person in people:
        assert sum(step.kind == "chat" for step in person.steps()) == len(person.order) == len(person.cards)


def test_row_that_an_erased_person_held_is_the_next():
    study = shared()
    people = [counsellor(study) for _ in range(3)]
    erasure.erase(people[1])
    people[1].refresh_from_db()
    assert (people[1].cards, people[1].order_index) == ([], None)
    assert counsellor(study).order_index == 1


@pytest.mark.parametrize(
    "gone", [{"status": "withdrawn"}, {"status": "stopped"}, {"status": "timed_out"}, {"excluded": True}]
)
def test_row_whose_holder_has_gone_is_given_again_when_all_are_held(gone):
    study = shared()
    people = [counsellor(study) for _ in range(ROWS - 1)]
    Participation.objects.filter(pk=people[2].pk).update(**gone)

    assert counsellor(study).order_index == ROWS - 1
    later = counsellor(study)

    assert (later.order_index, later.order) == (2, people[2].order)
    people[2].refresh_from_db()
    assert (people[2].order_index, people[2].order) == (None, later.order)


@pytest.mark.parametrize("status", ["completed", "held", "in_review", "active"])
def test_further_block_is_begun_when_all_rows_are_held_for_good(status):
    study = shared()
    for _ in range(ROWS):
        counsellor(study)
    study.participations.update(status=status)
    later = counsellor(study)
    assert later.order_index == ROWS
    assert later.order == [place.arm for place in plan_of(study.current(), block=1, language="en")[0]]


def test_test_data_holds_rows_of_its_own():
    study = shared()
    assert [counsellor(study, is_test=is_test).order_index for is_test in (False, True, False, True)] == [0, 0, 1, 1]


def test_arm_that_is_paused_shifts_nobodys_row():
    study = shared()
    planned = plan_of(study.current(), block=0, language="en")
    counsellor(study)
    Arm.objects.filter(key="cedar").update(paused=True)
    people = [counsellor(study) for _ in range(ROWS - 1)]
    assert [list(zip(person.order, person.cards, strict=True)) for person in people] == [
        [tuple(place) for place in row if place.arm != "cedar"] for row in planned[1:]
    ]


@pytest.mark.django_db(transaction=True)
def test_counsellors_who_come_at_once_get_rows_of_their_own():
    study = shared()
    plan = [{"kind": "debrief", "key": "before"}, {"kind": "chats", "key": "chats"}]
    people = [factories.person(study, track="counsellor", plan=plan, order=[]) for _ in range(ROWS)]
    together = Barrier(ROWS)

    def arrive(person: Participation) -> None:
        try:
            together.wait(timeout=30)
            progress.advance(Participation.objects.get(pk=person.pk), done=person.steps()[0])
        finally:
            connection.close()

    with ThreadPoolExecutor(ROWS) as pool:
        list(pool.map(arrive, people))

    taken = study.participations.order_by("order_index").values_list("order_index", flat=True)
    assert list(taken) == list(range(ROWS))


@pytest.mark.django_db(transaction=True)
def test_row_of_one_who_has_gone_passes_to_one_of_those_who_come_at_once():
    study = shared()
    gone, *others = [counsellor(study) for _ in range(ROWS)]
    Participation.objects.filter(pk=gone.pk).update(status="withdrawn")
    plan = [{"kind": "debrief", "key": "before"}, {"kind": "chats", "key": "chats"}]
    people = [factories.person(study, track="counsellor", plan=plan, order=[]) for _ in range(3)]
    together = Barrier(3)

    def arrive(person: Participation) -> None:
        try:
            together.wait(timeout=30)
            enrolment.draw_order(Participation.objects.get(pk=person.pk))
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(arrive, people))

    taken = study.participations.filter(order_index__isnull=False).order_by("order_index")
    assert list(taken.values_list("order_index", flat=True)) == [*range(ROWS + 2)]
    assert taken[0].pk in [person.pk for person in people]
    assert [person.order_index for person in others] == list(range(1, ROWS))


# The counsellor's page


@pytest.fixture
def playing():
    factories.study()
    person = Person(track="counsellor")
    person.go_to("chat", run=1)
    person.page()
    return person


def tick(person: Person, behaviour: str, played: str = "yes", run: int = 1, **fields: str):
    return person.client.post("/study/played/", {"behaviour": behaviour, "played": played, "run": run, **fields})


def role_play() -> RolePlay:
    return RolePlay.objects.get()


def shown_behaviours() -> list[str]:
    given = role_play().card["intensities"]
    return [key for key in behaviour_keys() if given[key]]


def test_page_shows_the_card_beside_the_chat(playing):
    card = role_play().card["profile"]
    page = playing.page().content.decode()
    text = unescape(page)
    assert text.count('id="role-card"') == 1
    for words in (card["D"]["alias"], card["C"]["problem"], card["S"]["opening"], card["S"]["ends_when"]):
        assert words in text
    for line in (*card["S"]["layers"], *card["S"]["reactions"].values()):
        assert line in text
    assert text.count('name="behaviour"') == len(shown_behaviours())
    assert playing.row.order[0] not in text


def test_page_of_a_participant_has_no_card():
    factories.study()
    person = Person()
    person.go_to("chat", run=1)
    assert 'role-card"' not in person.page().content.decode()


def test_tick_is_kept_over_a_reload_and_taken_away_again(playing):
    first, second = shown_behaviours()[:2]

    assert tick(playing, second).json() == {"saved": True}
    tick(playing, first)
    assert role_play().played == [second, first]
    shown = playing.page().context["chat"]["card"].behaviours
    assert [each.key for each in shown if each.played] == [first, second]

    tick(playing, second, played="no")
    assert role_play().played == [first]


def test_tick_that_comes_twice_is_one(playing):
    [first, *_] = shown_behaviours()
    tick(playing, first)
    tick(playing, first)
    tick(playing, first, played="no", idempotency="k1")
    tick(playing, first, idempotency="k2")
    assert tick(playing, first, played="no", idempotency="k1").json() == {"saved": True}
    assert role_play().played == [first]


@pytest.mark.parametrize("sent", [{"behaviour": "zzz"}, {"behaviour": ""}, {"run": 2}, {"run": "x"}])
def test_odd_tick_is_refused(sent, playing):
    response = tick(playing, **{"behaviour": shown_behaviours()[0], **sent})
    assert response.status_code == 400
    assert role_play().played == []


def test_behaviour_that_the_card_does_not_have_cannot_be_ticked(playing):
    one = role_play()
    one.card["intensities"]["resistance"] = 0
    one.save()
    assert tick(playing, "resistance").status_code == 400


def test_tick_needs_a_person_and_their_open_conversation(playing):
    assert Client().post("/study/played/", {"behaviour": "resistance"}).status_code == 403
    assert playing.client.get("/study/played/").status_code == 405
    playing.converse()
    assert tick(playing, shown_behaviours()[0]).status_code == 400


# The workbench


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def desk(django_user_model):
    client = Client()
    client.force_login(django_user_model.objects.create_user("ada", is_staff=True, is_superuser=True))
    return client


HERE = "/research/demo/design/"
OWN = {
    "id": "own",
    "lang": "en",
    "D.alias": "Robin",
    "D.age": "41",
    "C.problem": "Cannot sleep.",
    "C.goals": "sleep\n\nbe less tired ",
    "S.opening": "hi",
    "S.layers": "tired\nlonely",
    "S.ends_when": "bored",
    "worst_case_default.trigger_word": "relax",
    **{f"worst_case_default.{key}": "1" for key in behaviour_keys()},
}


def test_list_counts_what_was_given_out_and_the_arms_that_were_met(desk, study):
    run = get_or_open_run(counsellor(study), 1)
    get_or_open_run(counsellor(study, is_test=True), 1)

    def given(**query):
        rows = desk.get(f"{HERE}cards/", query).context["rows"]
        return {row.card.key: (row.uses, row.arms) for row in rows if row.uses}

    assert given(test="no") == {run.card: (1, [run.arm])}
    assert sum(count for count, _arms in given().values()) == 2


def test_list_asks_the_database_as_often_for_many_cards_as_for_one(desk, study):
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            desk.get(f"{HERE}cards/")
        return len(asked)

    many = queries()
    study.cards.exclude(key="en01").delete()
    assert queries() == many


def test_card_is_shown_as_the_counsellor_sees_it_in_its_language(desk, study):
    page = desk.get(f"{HERE}cards/zh01/").content.decode()
    assert study.cards.get(key="zh01").profile["S"]["opening"] in page
    assert "低投入" in page
    assert 'name="behaviour"' not in page


def test_card_is_written_in_a_form(desk, study):
    response = desk.post(f"{HERE}write-card/", OWN)

    assert response["Location"] == f"{HERE}cards/own/"
    card = study.cards.get(key="own")
    assert (card.language, card.intensities) == ("en", dict.fromkeys(behaviour_keys(), 1))
    assert card.profile == {
        "id": "own",
        "D": {"alias": "Robin", "age": 41},
        "P": {},
        "C": {"problem": "Cannot sleep.", "goals": ["sleep", "be less tired"]},
        "S": {"opening": "hi", "layers": ["tired", "lonely"], "ends_when": "bored"},
        "trigger_word": "relax",
    }
    assert desk.get(response["Location"]).status_code == 200


@pytest.mark.parametrize(
    ("sent", "place", "wrong"),
    [
        ({"D.alias": ""}, "D.alias", "This field is required."),
        ({"D.age": "200"}, "D.age", "must be between 1 and 120"),
        ({"id": "A b"}, "id", "must be lower-case letters, digits, _ and -, beginning with a letter or digit"),
        ({"id": "en01"}, "id", "There is already a card with this key."),
        ({"S.layers": "a\na"}, "S.layers", '"a" is listed twice'),
        ({"worst_case_default.resistance": "4"}, "worst_case_default.resistance", None),
        ({"lang": "fr"}, "lang", None),
        (
            {"S.ends_when": "bored after turn 6"},
            "S.ends_when",
            "lets the talk end at turn 6, but a conversation has at least 10",
        ),
    ],
)
def test_form_says_what_is_to_be_mended(sent, place, wrong, desk, study):
    before = study.cards.count()
    response = desk.post(f"{HERE}write-card/", OWN | sent)
    form = response.context["form"]
    assert response.status_code == 400
    assert list(form.errors) == [place]
    assert wrong in (None, form.errors[place][0])
    assert study.cards.count() == before


def test_preset_fills_in_the_intensities_and_saves_nothing(desk, study):
    before = study.cards.count()
    storm = next(preset for preset in presets() if preset.key == "storm")

    form = desk.post(f"{HERE}write-card/", OWN | {"D.alias": "", "preset": "storm"}).context["form"]

    chosen = {key: form[f"worst_case_default.{key}"].value() for key in behaviour_keys()}
    assert chosen == {key: str(value) for key, value in storm.intensities.items()}
    assert (form["S.layers"].value(), form["D.alias"].value()) == ("tired\nlonely", "")
    assert not form.errors
    assert study.cards.count() == before


@pytest.mark.parametrize("key", ["en01", "zh06"])
def test_card_that_is_edited_without_a_change_is_the_same(key, desk, study):
    before = study.cards.get(key=key).as_given()
    form = desk.get(f"{HERE}cards/{key}/edit/").context["form"]
    sent = {field.html_name: field.value() for field in form if field.value() is not None}

    assert desk.post(f"{HERE}cards/{key}/edit/", sent).status_code == 302

    assert study.cards.get(key=key).as_given() == before


def test_edit_changes_the_card_and_never_its_key(desk, study):
    form = desk.get(f"{HERE}cards/en01/edit/").context["form"]
    sent = {field.html_name: field.value() for field in form if field.value() is not None}

    desk.post(f"{HERE}cards/en01/edit/", sent | {"id": "other", "S.opening": "hello"})

    assert study.cards.get(key="en01").profile["S"]["opening"] == "hello"
    assert not study.cards.filter(key="other").exists()


def test_card_that_a_colleague_has_changed_is_not_overwritten_unseen(desk, study):
    page = desk.get(f"{HERE}cards/en01/edit/").context
    sent = {field.html_name: field.value() for field in page["form"] if field.value() is not None}
    old = sent | {"seen": page["seen"]}
    desk.post(f"{HERE}cards/en01/edit/", old | {"S.opening": "theirs"})

    preset = desk.post(f"{HERE}cards/en01/edit/", old | {"S.opening": "mine", "preset": "average"}).context
    refused = desk.post(f"{HERE}cards/en01/edit/", old | {"S.opening": "mine"})

    assert preset["seen"] == page["seen"]
    assert refused.status_code == 400
    assert "A colleague has changed this since you opened the page." in refused.content.decode()
    assert refused.context["form"]["S.opening"].value() == "mine"
    assert study.cards.get(key="en01").profile["S"]["opening"] == "theirs"
    desk.post(f"{HERE}cards/en01/edit/", old | {"S.opening": "mine", "seen": refused.context["seen"]})
    assert study.cards.get(key="en01").profile["S"]["opening"] == "mine"


def test_import_page_takes_a_file_or_lists_its_faults(desk, study, tmp_path):
    def send(path):
        file = SimpleUploadedFile("cards.json", path.read_bytes())
        return desk.post(f"{HERE}import-cards/", {"file": file})

    refused = send(written(tmp_path, lambda profiles: profiles[2]["S"].pop("opening")))
    assert refused.status_code == 400
    assert refused.context["faults"] == ("cards.json: profiles[3].S.opening: is missing",)
    assert send(written(tmp_path, lambda profiles: profiles[0]["D"].update(age=25)))["Location"] == f"{HERE}cards/"
    assert study.cards.get(key="en01").profile["D"]["age"] == 25
    assert desk.post(f"{HERE}import-cards/").status_code == 400


def test_retired_card_is_given_to_nobody_until_it_is_restored(desk, study):
    for key in EN[1:]:
        desk.post(f"{HERE}cards/{key}/retire/", {"act": "retire"})
    assert set(counsellor(study).cards) == {"en01"}
    desk.post(f"{HERE}cards/en02/retire/", {"act": "restore"})
    assert "en02" in counsellor(study).cards


@pytest.mark.parametrize(("language", "word"), [("en", "worst case"), ("zh-hans", "最难情形")])
@pytest.mark.parametrize("page", ["", "en02/"])
def test_cards_tell_their_condition_in_the_language_of_the_page(page, language, word, desk, study):
    shown = desk.get(f"/research/{study.key}/design/cards/{page}", headers={"accept-language": language})

    assert word in shown.content.decode()
    assert "worst_case" not in shown.content.decode()


def test_cards_are_for_researchers_and_of_their_study(desk, study):
    factories.study("another").cards.exclude(key="en01").delete()
    for page in ("cards/", "write-card/", "cards/en01/", "cards/en01/edit/"):
        assert Client().get(HERE + page).status_code == 302
        assert desk.get(HERE + page).status_code == 200
    assert desk.get("/research/another/design/cards/en02/").status_code == 404
    assert desk.get(f"{HERE}cards/en01/retire/").status_code == 405


def test_design_shows_the_block_plan_and_who_holds_which_row(desk):
    study = shared()
    person = counsellor(study)
    erasure.erase(counsellor(study))
    Participation.objects.filter(pk=counsellor(study).pk).update(status="withdrawn")

    rows = [row for row, _gaps in desk.get("/research/shared/design/").context["plan_rows"]]

    assert [row.number for row in rows] == list(range(1, ROWS + 1))
    assert rows[0].holder == person
    assert rows[0].places == tuple(zip(person.order, person.cards, strict=True))
    assert [(bool(row.holder), row.left) for row in rows[:3]] == [(True, False), (True, True), (False, False)]
    assert [len(card.split(" / ")) for _arm, card in rows[2].places] == [2] * len(rows[2].places)
    assert [row.holder for row in shown_rows(study.current(), is_test=True)] == [None] * ROWS


def test_design_without_a_block_plan_shows_none(desk, study):
    response = desk.get(HERE)
    assert "plan_rows" not in response.context
    assert f'href="{HERE}cards/"' in response.content.decode()
