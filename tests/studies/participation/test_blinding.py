"""The guess of the partners: asked the same way of everyone, stored whole or not at all, and it tells nothing."""

import re

import pytest
from django.core.management import call_command

from dialogue.chat import lifecycle
from studies.data.exports.codebook import build_codebook
from studies.data.exports.columns import Filter
from studies.data.exports.tables import ANSWERS, TABLES
from studies.instruments.loading import load
from studies.models import Response, Study
from studies.models.participation import Status
from studies.person.outline import outline
from studies.steps import blinding
from tests.people import Person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_commit_at_once")]

QUICK = {"min_turns = 10": "min_turns = 1", "checkpoints = [5, 10]": "checkpoints = [1]"}
LISTED = {  # in the order of the page
    "birch": "Advice at once (demonstration)",
    "delta": "Asks questions (demonstration)",
    "ember": "Attuned to the person (demonstration)",
    "cedar": "Says back what was said (demonstration)",
    "amber": "Stock phrases (demonstration)",
}
FORM = re.compile(r'<form class="instrument".*?</form>', re.DOTALL)
KEYS = re.compile(r'name="(?:csrfmiddlewaretoken|idempotency)" value="[^"]*"')
LIST = re.compile(r'name="run1-guess" value="(\w+)".*?choice__text">([^<]*)<', re.DOTALL)


def demo(settings, tmp_path, changes=()):
    text = (settings.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8")
    for was, becomes in {**QUICK, **dict(changes)}.items():
        assert text.count(was) == 1
        text = text.replace(was, becomes)
    path = tmp_path / "demo.toml"
    path.write_text(text, encoding="utf-8")
    call_command("load_study", str(path), verbosity=0)


@pytest.fixture(autouse=True)
def quick(settings, tmp_path):
    demo(settings, tmp_path)


class Leaver(Person):
    """Ends some conversations before the first reply."""

    silent: tuple[int, ...] = ()

    def converse(self):
        if self.step.run not in self.silent:
            return super().converse()
        self.page()
        lifecycle.end(self.conversation().pk, early=True)
        self.page()


def asked(person=None, **fields):
    person = person or Person(**fields)
    person.go_to("blinding")
    return person


def all_alike(guess: str, **others: str) -> dict[str, str]:
    return {f"run{run}-guess": guess for run in range(1, 6)} | others


def stored() -> list[Response]:
    return list(Response.objects.filter(instrument="blinding").order_by("run__position"))


def given(response: Response) -> list[tuple]:
    return list(response.answers.order_by("pk").values_list("item", "value", "text", "missing_reason"))


def test_page_is_the_same_for_people_who_met_the_arms_in_another_order():
    one, other = asked(), asked()
    assert one.row.order != other.row.order
    forms = [KEYS.sub("", FORM.search(person.page().content.decode())[0]) for person in (one, other)]
    assert forms[0] == forms[1]
    assert forms[0].count('<div class="card items">') == 6


def test_arms_are_listed_by_their_titles_and_none_by_its_key():
    page = asked().page().content.decode()
    listed = [
        *((str(place), title) for place, title in enumerate(LISTED.values(), 1)),
        ("cannot_tell", "I cannot tell"),
    ]
    assert LIST.findall(page) == listed
    assert not re.search(rf"\b({'|'.join(LISTED)})\b", page)


def test_guess_is_kept_with_its_conversation_as_the_key_of_the_arm():
    person = asked()
    sent = all_alike("4", **{f"run{run}-sure": str(run) for run in range(1, 6)}, why="It said my words back.")
    assert person.send(sent).status_code == 302
    page, *runs = sorted(stored(), key=lambda response: response.run.position if response.run else 0)
    assert [response.run.position for response in runs] == [1, 2, 3, 4, 5]
    assert [given(response) for response in runs] == [
        [("guess", None, "cedar", ""), ("sure", float(run), "", "")] for run in range(1, 6)
    ]
    assert given(page) == [("why", None, "It said my words back.", "")]
    assert {(response.moment, response.is_rating) for response in stored()} == {("final", False)}
    assert person.step.kind == "debrief"


def test_place_in_the_list_is_the_same_arm_in_the_other_language():
    person = asked()
    person.client.post("/study/language/", {"language": "zh"})
    page = person.page().content.decode()
    assert [title for _, title in LIST.findall(page)][3:] == ["复述对方的话（演示）", "套话（演示）", "我判断不出来"]
    person.send(all_alike("5", **{f"run{run}-sure": "1" for run in range(1, 6)}))
    assert {given(response)[0][2] for response in stored() if response.run} == {"amber"}


def test_who_cannot_tell_is_not_asked_how_sure():
    person = asked()
    assert person.send(all_alike("cannot_tell", **{"run1-sure": "5"})).status_code == 302
    assert [given(response) for response in stored() if response.run] == [[("guess", None, "cannot_tell", "")]] * 5
    assert [given(response) for response in stored() if not response.run] == [[("why", None, "", "not_answered")]]


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"run2-guess": ""}, "run2-guess"),
        ({"run2-guess": "6"}, "run2-guess"),
        ({"run2-guess": "amber"}, "run2-guess"),
        ({"run2-guess": "1"}, "run2-sure"),
        ({"run2-guess": "1", "run2-sure": "6"}, "run2-sure"),
    ],
)
def test_incomplete_page_comes_again_and_nothing_is_stored(sent, field):
    person = asked()
    page = person.be_refused({**all_alike("cannot_tell"), **sent})
    assert f'href="#id_{field}"' in page.content.decode()
    assert (stored(), person.step.kind) == ([], "blinding")


def test_guesses_are_stored_together_or_not_at_all(monkeypatch):
    person, kept = asked(), []

    def fails_at_the_third(*args, **kwargs):
        if len(kept) == 2:
            raise OSError("the disk is full")
        kept.append(store(*args, **kwargs))

    store = blinding.store_response
    monkeypatch.setattr(blinding, "store_response", fails_at_the_third)
    with pytest.raises(OSError, match="the disk is full"):
        person.send(all_alike("cannot_tell"))
    assert (len(kept), stored(), person.step.kind) == (2, [], "blinding")


def test_page_sent_twice_is_stored_once_as_it_was_first():
    person = asked()
    step = person.step
    person.send(all_alike("cannot_tell"))
    person.send(all_alike("1", **{f"run{run}-sure": "5" for run in range(1, 6)}), step=step)
    assert {given(response)[0][2] for response in stored() if response.run} == {"cannot_tell"}


def test_only_partners_who_replied_are_asked_about():
    person = Leaver()
    person.silent = (2, 5)
    page = asked(person).page().content.decode()
    assert re.findall(r'data-item="run(\d)-guess"', page) == ["1", "3", "4"]
    person.send(all_alike("cannot_tell"))
    assert [response.run.position for response in stored() if response.run] == [1, 3, 4]
    person.page()
    person.row.refresh_from_db()
    assert person.row.status == Status.COMPLETED


def test_who_had_no_reply_at_all_is_asked_nothing_and_can_end():
    person = Leaver()
    person.silent = (1, 2, 3, 4, 5)
    page = asked(person).page()
    assert page.context["step"].kind == "debrief"
    assert stored() == []
    person.row.refresh_from_db()
    assert person.row.status == Status.COMPLETED


def test_code_is_withheld_while_a_guess_is_missing():
    person = asked()
    person.send(person.answers())
    Response.objects.filter(instrument="blinding", run__position=3).delete()
    person.page()
    person.row.refresh_from_db()
    assert (person.row.status, person.row.completion_code) == (Status.ACTIVE, "")


def test_what_is_not_sent_yet_is_there_on_coming_back():
    person = asked()
    draft = {"step": person.step.key, "run1-guess": "2", "run1-sure": "4", "run2-guess": "cannot_tell"}
    person.client.post("/study/draft/", draft)
    rows = {row.field.name: row for row in person.page().context["form"].rows}
    assert (rows["run1-guess"].field.value(), rows["run1-sure"].field.value()) == ("2", "4")
    assert [rows[f"run{run}-sure"].hidden for run in (1, 2, 3)] == [False, True, True]


def test_time_on_an_item_is_kept_with_its_partner():
    person = asked()
    person.send(all_alike("cannot_tell", **{"seconds.run2-guess": "3.5", "seconds.why": "7", "seconds.x-y": "1"}))
    seconds = {(response.run and response.run.position): response.answers.get().seconds for response in stored()}
    assert seconds == {1: None, 2: 3.5, 3: None, 4: None, 5: None, None: 7.0}


def test_counsellors_of_the_demo_are_not_asked():
    person = Person(track="counsellor")
    person.go_to("debrief")
    assert stored() == []


def test_study_in_chinese_alone_can_ask(settings, tmp_path):
    demo(settings, tmp_path, [('languages = ["en", "zh"]', 'languages = ["zh"]')])
    assert "我判断不出来" in asked(language="zh").page().content.decode()


def test_way_that_is_left_counts_each_partner():
    person = asked()
    far = outline(person.row, person.step, person.row.design())
    assert far.minutes_left == 3  # five guesses, then the debrief


def test_answers_are_exported_with_their_conversation():
    person = asked()
    person.send({**all_alike("cannot_tell"), "run3-guess": "1", "run3-sure": "4"})
    study, names = Study.objects.get(), [column.name for column in ANSWERS]
    exported = next(table for table in TABLES if table.name == "answers")
    rows = [dict(zip(names, row, strict=True)) for row in exported.rows(study, Filter())]
    ours = [row for row in rows if row["instrument"] == "blinding"]
    assert len(rows) == exported.count(study, Filter())
    code = person.row.runs.get(position=3).conversation.code
    assert [(row["item"], row["value"], row["text"], row["moment"]) for row in ours if row["conversation"] == code] == [
        ("guess", None, "birch", "final"),
        ("sure", 4.0, "", "final"),
    ]
    assert [row["item"] for row in ours if row["conversation"] is None] == ["why"]


def test_codebook_says_that_a_guess_is_an_arm():
    entries = {entry.column: entry for entry in build_codebook([], [load("blinding")])}
    assert entries["guess"].values == "the key of an arm, as in conversations.csv; cannot_tell = I cannot tell"
    sure = entries["sure"]
    assert (sure.minimum, sure.maximum, sure.values) == (1, 5, "1 = Not at all sure; 5 = Completely sure")


def test_my_data_has_the_title_of_the_partner_who_was_guessed_and_no_key():
    person = asked()
    person.send(all_alike("1", **{f"run{run}-sure": "3" for run in range(1, 6)}))
    for page in ("my-data.json", "read/"):
        text = person.client.get(f"/study/my-data/{page}").content.decode()
        assert LISTED["birch"] in text
        assert not re.search("birch", text)
