"""Interviews: written alone page by page, or held by a researcher, and what is made of them."""

import re
from itertools import count

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient, Client
from django.urls import reverse

from studies.bots.page_reader import read_page
from studies.instruments.loading import load
from studies.interviews import attachments, coding
from studies.models import (
    Answer,
    Attachment,
    CandidateDimension,
    Consent,
    Interview,
    InterviewNote,
    Passage,
    Response,
    Study,
)
from studies.participation import progress
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db

EVERY = [item.key for item in load("interview_guide").items_for(track="expert")]
PAGES = [["op1", "op2"], ["cs1", "cs2", "cs3", "cs4", "cs5"], ["rd1", "rd2", "rd3", "rd4"],
         ["cb1", "cb2", "cb3", "cb4"], ["md1", "md2", "md3"], ["md4"], ["rl1", "rl2"], ["cl1", "cl2"]]  # fmt: skip
MP3 = b"ID3\x04\x00" + bytes(200)
ARMS = ("amber", "birch", "Stock phrases", "Advice at once")
HELD_BACK = [item.label["en"] for item in load("worst_case_4").items]


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR = tmp_path
    return tmp_path


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def desk():
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


def at_interview(study, track="counsellor", mode="self", **fields):
    """A person who has had two conversations and stands at their interview."""
    person = Person(study.key, track=track)
    for name, value in {"status": "active", "language": "en", "order": ["amber", "birch"], **fields}.items():
        setattr(person.row, name, value)
    person.row.save()
    for score, arm in ((4.0, "amber"), (2.0, "birch")):
        run = factories.run_with_turns(study, person.row, arm=arm)
        factories.rating(person.row, run, score)
        factories.answer(person.row, "worst_case_4", {item.key: 1.0 for item in load("worst_case_4").items}, run=run,
                         moment="final")  # fmt: skip
    factories.interviewed(person.row, mode)
    return person


def text(response) -> str:
    return response.content.decode()


keys = count()


def write(person, part, **fields):
    """Send a page of the interview, as a form of its own."""
    given = {"step": "interview", "part": part, "idempotency": f"k{next(keys)}", **fields}
    return person.client.post("/study/", given)


def be_refused(person, part, **fields):
    """The page that says what is to be mended."""
    return person.be_refused({"part": part, "idempotency": f"k{next(keys)}", **fields}, at=f"/study/?page={part}")


def write_up_to(person, part):
    for number in range(1, part):
        assert write(person, number, **{item: f"My {item}." for item in PAGES[number - 1]}).status_code == 302


def boxes_of(response) -> dict[str, str]:
    """What stands in each box of the page's forms; a browser leaves out the line end that a textarea begins with."""
    forms = read_page(text(response)).forms
    return {name: box.value.removeprefix("\n") for form in forms for name, box in form.fields.items()}


def asked_on(response) -> list[str]:
    return [name for name in re.findall(r'data-item="([^"]+)"', text(response)) if not name.startswith("candidate")]


def written(person) -> dict[str, str]:
    rows = Answer.objects.filter(response__rater__participation=person.row, response__instrument="interview_guide")
    return dict(rows.values_list("item", "text"))


def named(person) -> list[tuple]:
    return list(person.row.candidate_dimensions.order_by("pk").values_list("name", "definition", "example"))


def address(name, person=None, *args):
    return reverse(f"research-{name}", args=["demo", *([person.row.code] if person else []), *args])


# Answered alone


def test_sections_come_one_at_a_time_and_all_is_stored_as_one_response(study):
    person = at_interview(study)
    for number, items in enumerate(PAGES, 1):
        assert asked_on(person.page()) == items
        assert write(person, number, **{item: f"My {item}." for item in items}).status_code == 302
    assert written(person) == {item: f"My {item}." for item in EVERY}
    response = Response.objects.get(instrument="interview_guide")
    assert (response.version, response.moment, response.is_rating, response.run) == ("1.0.4", "", False, None)
    interview = Interview.objects.get()
    assert (interview.interviewer, interview.ended_at is not None) == (None, True)
    person.page()
    person.row.refresh_from_db()
    assert person.row.status == "completed"


def test_nothing_has_to_be_answered(study):
    person = at_interview(study, track="participant")
    assert asked_on(person.page()) == ["pq1", "pq2", "pq3", "pq4", "pq5"]
    assert write(person, 1, pq5="Fine.").status_code == 302
    reasons = dict(Answer.objects.filter(response__instrument="interview_guide").values_list("item", "missing_reason"))
    assert reasons == {**dict.fromkeys(["pq1", "pq2", "pq3", "pq4"], "not_answered"), "pq5": ""}
    assert person.step.kind == "debrief"


def test_a_participant_is_not_shown_what_their_memory_is_compared_with(study):
    page = text(at_interview(study, track="participant").page())
    assert "Your ratings" not in page
    assert "I lost my job." not in page
    assert "compare with the ratings" not in page


def test_a_later_page_opens_only_after_the_one_before_it(study):
    person = at_interview(study)
    assert asked_on(person.client.get("/study/?page=3")) == PAGES[0]
    write(person, 3, rd1="Too soon.")
    assert written(person) == {}


@pytest.mark.parametrize("part", ["", "0", "9", "x", "1" * 40])
def test_a_page_that_is_not_there_is_not_taken(study, part):
    person = at_interview(study)
    write(person, part, op1="?")
    assert written(person) == {}


def test_going_back_shows_what_was_sent_and_sending_again_replaces_it(study):
    person = at_interview(study)
    write_up_to(person, 3)
    back = person.client.get("/study/?page=1")
    assert asked_on(back) == PAGES[0]
    assert back.context["form"]["op1"].value() == "My op1."
    write(person, 1, op1="Now otherwise.")
    assert {item: written(person)[item] for item in ("op1", "op2", "cs1")} == {
        "op1": "Now otherwise.",
        "op2": "",
        "cs1": "My cs1.",
    }
    assert asked_on(person.page()) == PAGES[2]


def test_the_four_are_named_only_when_the_questions_before_them_are_settled(study):
    person = at_interview(study)
    write_up_to(person, 5)
    seen = "".join(text(person.client.get(f"/study/?page={number}")) for number in range(1, 6))
    assert [name for name in HELD_BACK if name in seen] == []
    write(person, 5, md1="Mine.")
    assert [name for name in HELD_BACK if name not in text(person.page())] == []
    settled = person.client.get("/study/?page=5")
    assert (asked_on(settled), "Mine." in text(settled)) == ([], True)
    write(person, 5, md1="Theirs.")
    assert written(person)["md1"] == "Mine."


def test_own_ratings_conversations_and_flags_stand_beside_the_questions_and_no_arm(study):
    person = at_interview(study)
    run = person.row.runs.get(position=2)
    factories.flag(run, 1, note="Cold.", reply="What happened?")
    factories.flag(run, 2, note="Taken back.", withdrawn_at=run.created_at)
    write_up_to(person, 3)
    page = person.page()
    assert [flag.note for flag in page.context["flags"]] == ["Cold."]
    [table] = page.context["tables"]
    assert (table.instrument, table.partners) == ("emoharbor_10", [1, 2])
    assert {tuple(one.score for one in scores) for _name, scores in table.rows} == {("4", "2")}
    assert "I lost my job." in text(page)
    everything = "".join(text(person.client.get(f"/study/?page={number}")) for number in (1, 2, 3))
    assert [arm for arm in ARMS if arm in everything] == []


def test_what_is_typed_is_kept_on_the_way_back_and_there_again(study):
    person = at_interview(study)
    write_up_to(person, 2)
    kept = {"step": "interview", "part": "2", "cs1": "Half a", "next": "/study/?page=1"}
    assert person.client.post("/study/draft/", kept)["Location"] == "/study/?page=1"
    write(person, 1, op1="Changed.")
    page = person.page()
    assert (asked_on(page), page.context["form"]["cs1"].value()) == (PAGES[1], "Half a")
    assert "cs1" not in written(person)


def test_leading_elsewhere_with_a_draft_stays_on_this_server(study):
    person = at_interview(study)
    kept = {"step": "interview", "part": "1", "op1": "x", "next": "https://elsewhere.example/"}
    assert person.client.post("/study/draft/", kept)["Location"] == "/study/"


def test_too_long_an_answer_comes_back_with_everything_in_it(study):
    person = at_interview(study)
    page = be_refused(person, 1, op1="x" * 5001, op2="Short.")
    assert 'href="#id_op1"' in text(page)
    assert page.context["form"]["op2"].value() == "Short."
    assert (written(person), Interview.objects.count()) == ({}, 0)


def test_candidate_dimensions_are_kept_and_an_emptied_row_takes_one_out(study):
    person = at_interview(study)
    write_up_to(person, 5)
    rows = {"candidate-1-name": "Pacing", "candidate-1-definition": "Leaves time.", "candidate-3-name": "Warmth"}
    more = {"step": "interview", "part": "5", **rows, "next": "/study/?page=5#candidates"}
    assert len(person.page().context["candidates"]) == 3
    person.client.post("/study/draft/", more)
    assert len(person.page().context["candidates"]) == 6
    write(person, 5, **{**rows, "candidate-1-name": "", "candidate-1-definition": ""})
    assert named(person) == [("Warmth", "", "")]


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        ({"candidate-2-definition": "No name"}, "candidate-2-name"),
        ({"candidate-1-name": "Pacing", "candidate-2-name": "pacing"}, "candidate-2-name"),
        ({"candidate-1-name": "x" * 61}, "candidate-1-name"),
    ],
)
def test_candidate_without_a_name_of_its_own_is_to_be_mended(study, rows, field):
    person = at_interview(study)
    write_up_to(person, 5)
    page = be_refused(person, 5, md1="Kept.", **rows)
    assert f'href="#id_{field}"' in text(page)
    assert (named(person), "md1" in written(person)) == ([], False)


def test_a_number_of_rows_beyond_reason_is_not_made(study):
    person = at_interview(study)
    write_up_to(person, 5)
    page = be_refused(
        person, 5, **{"candidate-99-name": "Far", "candidate-99999-name": "Farther", "candidate-1-example": "x"}
    )
    assert len(page.context["candidates"]) == 40


def test_a_page_sent_twice_is_taken_once(study):
    person = at_interview(study)
    first = {"step": "interview", "part": "1", "idempotency": "same", "op1": "First."}
    person.client.post("/study/", first)
    person.client.post("/study/", {**first, "op1": "Second."})
    assert written(person)["op1"] == "First."


def test_the_interview_in_chinese(study):
    person = at_interview(study, language="zh")
    person.client.post("/study/language/", {"language": "zh"})
    page = text(person.page())
    assert "请简单介绍您的受训背景和常接触的来访者。" in page
    assert "例如：从业年限、机构、督导" in page


# Held by a researcher


def test_who_is_interviewed_waits_until_the_interview_is_closed(study, desk):
    person = at_interview(study, mode="interviewer")
    page = person.page()
    assert "Your interview: the team will arrange it" in text(page)
    assert "They will write to you" not in text(page)
    assert "To find a time, or if you have a question, write to demo@example.org and give your code" in text(page)
    assert "demo@example.org" in text(page)
    person.send({"part": "1", "op1": "x"})
    assert written(person) == {}
    assert person.client.get("/pause/").status_code == 200
    desk.post(address("interview-start", person))
    assert person.page().context["step"].kind == "interview"
    desk.post(address("interview-notes", person), {"close": "yes"})
    assert person.page().context["step"].kind == "debrief"
    assert progress.missing_parts(person.row) == []


def test_the_page_of_the_interview_hides_the_arms_until_it_is_closed(study, desk):
    person = at_interview(study, mode="interviewer")
    desk.post(address("interview-start", person))
    page = text(desk.get(address("interview", person)))
    assert ("I lost my job." in page, [arm for arm in ARMS if arm in page]) == (True, [])
    desk.post(address("interview-notes", person), {"close": "yes"})
    closed = desk.get(address("interview", person))
    assert closed.context["partners"] == [(1, "amber"), (2, "birch")]
    desk.post(address("interview-reopen", person))
    assert desk.get(address("interview", person)).context["partners"] == []


def test_notes_are_saved_together_and_tied_to_what_is_the_persons_own(study, desk):
    person, other = at_interview(study, mode="interviewer"), at_interview(study, mode="interviewer")
    desk.post(address("interview-start", person))
    flag = factories.flag(person.row.runs.get(position=1))
    foreign = factories.flag(other.row.runs.get(position=1))
    score = Answer.objects.filter(response__rater__participation=person.row, item="redundancy").first()
    desk.post(
        address("interview-notes", person),
        {"note-cs1": "One.", "about-cs1": f"flag:{flag.pk}", "note-rd1": "Two.", "about-rd1": f"rating:{score.pk}",
         "note-rl1": "Three.", "about-rl1": f"flag:{foreign.pk}", "note-zz9": "No such question."},
    )  # fmt: skip
    notes = InterviewNote.objects.order_by("pk").values_list("question", "text", "flag", "rating", "author__username")
    assert list(notes) == [
        ("cs1", "One.", flag.pk, None, "ada"),
        ("rd1", "Two.", None, score.pk, "ada"),
        ("rl1", "Three.", None, None, "ada"),
    ]
    page = text(desk.get(address("interview", person)))
    assert "Partner 1, turn 1: " in page
    assert "Partner 1, Freedom from repetition (Redundancy): 4" in page


def test_a_note_can_be_worded_anew_and_taken_out_with_its_passages(study, desk):
    person = at_interview(study, mode="interviewer")
    interview = factories.interview(person.row, "First words")
    note = interview.notes.get()
    desk.post(address("interview-note", person, note.pk), {"text": "Second words"})
    note.refresh_from_db()
    assert note.text == "Second words"
    desk.post(address("interview-note", person, note.pk), {"text": " "})
    assert (interview.notes.count(), interview.passages.count()) == (0, 0)


def test_a_closed_interview_takes_no_notes_until_it_is_opened_again(study, desk):
    person = at_interview(study, mode="interviewer")
    desk.post(address("interview-start", person))
    desk.post(address("interview-notes", person), {"note-op1": "Before.", "close": "yes"})
    desk.post(address("interview-notes", person), {"note-op1": "Too late."})
    desk.post(address("interview-reopen", person))
    desk.post(address("interview-notes", person), {"note-op1": "Again."})
    assert [note.text for note in InterviewNote.objects.order_by("pk")] == ["Before.", "Again."]


def test_the_interviewer_adds_and_takes_out_candidate_dimensions(study, desk):
    person = at_interview(study, mode="interviewer")
    desk.post(address("interview-start", person))
    new = {"candidate-name": "Pacing", "candidate-definition": "Leaves time.", "candidate-example": ""}
    desk.post(address("interview-notes", person), new)
    assert named(person) == [("Pacing", "Leaves time.", "")]
    desk.post(address("interview-notes", person), {"drop": CandidateDimension.objects.get().pk})
    assert named(person) == []


@pytest.mark.parametrize(
    ("given", "field", "error"),
    [
        ({"note-cs1": "x" * 20_003}, "note-cs1", "Please shorten this to 20000 characters: 3 too many so far."),
        ({"candidate-name": "x" * 101}, "candidate-name", "Please shorten this to 100 characters: 1 too many so far."),
        ({"candidate-definition": "Leaves time."}, "candidate-name", "Please enter a name, or clear the fields"),
        ({"candidate-example": "Partner 2."}, "candidate-name", "Please enter a name, or clear the fields"),
    ],
)
def test_what_cannot_be_kept_comes_back_with_everything_else_that_was_typed(study, desk, given, field, error):
    person = at_interview(study, mode="interviewer")
    flag = factories.flag(person.row.runs.get(position=1))
    candidate(person.row, "Warmth")
    desk.post(address("interview-start", person))
    typed = {"note-rd1": "Kept.", "about-rd1": f"flag:{flag.pk}", "candidate-name": "", "candidate-example": "A <3",
             "drop": str(CandidateDimension.objects.get().pk), **given}  # fmt: skip
    page = desk.post(address("interview-notes", person), {**typed, "close": "yes"})
    assert page.status_code == 422
    assert (f'href="#{field}"' in text(page), error in text(page)) == (True, True)
    standing = boxes_of(page)
    assert {name: standing[name] for name in typed} == typed
    assert (InterviewNote.objects.count(), named(person)) == (0, [("Warmth", "", "")])
    assert Interview.objects.get().ended_at is None


def test_notes_up_to_the_limit_are_kept_whole_whatever_the_line_ends(study, desk):
    person = at_interview(study, mode="interviewer")
    desk.post(address("interview-start", person))
    desk.post(address("interview-notes", person), {"note-cs1": "a\r\n" + "x" * 19_998})
    assert InterviewNote.objects.get().text == "a\n" + "x" * 19_998


def test_a_note_that_is_worded_anew_too_long_comes_back_whole(study, desk):
    person = at_interview(study, mode="interviewer")
    note = factories.interview(person.row, "First words").notes.get()
    page = desk.post(address("interview-note", person, note.pk), {"text": "y" * 20_001})
    assert (page.status_code, boxes_of(page)["text"]) == (422, "y" * 20_001)
    assert "Please shorten this to 20000 characters: 1 too many so far." in text(page)
    note.refresh_from_db()
    assert note.text == "First words"


def test_a_note_that_a_colleague_has_changed_is_not_overwritten_unseen(study, desk):
    person = at_interview(study, mode="interviewer")
    note = factories.interview(person.row, "First words").notes.get()
    where = address("interview-note", person, note.pk)
    seen = desk.get(where).context["form"].seen
    desk.post(where, {"text": "theirs", "seen": seen})

    page = desk.post(where, {"text": "mine", "seen": seen})

    assert (page.status_code, boxes_of(page)["text"]) == (422, "mine")
    assert "A colleague has changed this since you opened the page." in text(page)
    note.refresh_from_db()
    assert note.text == "theirs"
    desk.post(where, {"text": "mine", "seen": page.context["form"].seen})
    note.refresh_from_db()
    assert note.text == "mine"


def test_an_interview_in_writing_is_neither_begun_nor_closed_by_a_researcher(study, desk):
    person = at_interview(study)
    desk.post(address("interview-start", person))
    assert Interview.objects.count() == 0
    write_up_to(person, 2)
    desk.post(address("interview-notes", person), {"note-op1": "A remark.", "close": "yes", "candidate-name": "Mine"})
    assert Interview.objects.get().ended_at is None
    assert ([note.text for note in InterviewNote.objects.all()], named(person)) == (["A remark."], [])


@pytest.mark.parametrize("name", ["interview-start", "interview-reopen", "interview-notes"])
def test_an_act_needs_a_researcher_and_is_not_done_by_looking(study, desk, name):
    person = at_interview(study, mode="interviewer")
    assert desk.get(address(name, person)).status_code == 405
    assert Client().post(address(name, person)).status_code == 403
    assert Interview.objects.count() == 0


def test_who_has_no_interview_in_their_plan_has_no_page(study, desk):
    person = factories.person(study)
    assert desk.get(f"/research/demo/interviews/{person.code}/").status_code == 404
    assert desk.get("/research/demo/interviews/P0000000/").status_code == 404


def test_the_list_tells_how_far_each_is_and_keeps_test_data_apart(study, desk):
    waiting, writing = at_interview(study, mode="interviewer"), at_interview(study)
    done = at_interview(study, is_test=True)
    write_up_to(writing, 2)
    write_up_to(done, 9)
    rows = desk.get(address("interviews") + "?test=no").context["rows"]
    assert [(row.person.code, row.state, row.waits) for row in rows] == [
        (waiting.row.code, "Not started", True),
        (writing.row.code, "Under way", False),
    ]
    rows = desk.get(address("interviews") + "?test=yes").context["rows"]
    assert [(row.person.code, row.state, row.person.notes) for row in rows] == [(done.row.code, "Done", 0)]


@pytest.mark.parametrize("people", [1, 3])
def test_the_list_asks_the_database_as_often_for_many_as_for_one(study, desk, people, django_assert_num_queries):
    for _ in range(people):
        factories.interview(factories.person(study))
    with django_assert_num_queries(7):
        desk.get(address("interviews"))


def test_navigation_leads_to_interviews_only_where_there_are_some(study, desk):
    assert "/research/demo/interviews/" not in text(desk.get("/research/demo/"))
    factories.interview(factories.person(study))
    assert "/research/demo/interviews/" in text(desk.get("/research/demo/"))


# Files


def upload(desk, person, name="talk.mp3", content=MP3, **fields):
    return desk.post(address("interview-files", person), {"file": SimpleUploadedFile(name, content), **fields})


def begun(study, box=True):
    person = at_interview(study, mode="interviewer")
    if box is not None:
        boxes = {"adult": True} | ({"record_interview": box} if box != "absent" else {})
        Consent.objects.create(participation=person.row, instrument="c", version="1", text_hash="", language="en",
                               boxes=boxes)  # fmt: skip
    Interview.objects.create(participation=person.row, instrument="interview_guide", version="1.0.4")
    return person


WAV = b"RIFF\x00\x00\x00\x00WAVEfmt "
GOOD = [
    ("a.mp3", MP3, "audio"),
    ("a.mp3", b"\xff\xfb\x90\x00" + bytes(60), "audio"),
    ("A.M4A", b"\x00\x00\x00\x20ftypM4A ", "audio"),
    ("a.wav", WAV, "audio"),
    ("a.ogg", b"OggS\x00", "audio"),
    ("a.webm", b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\x82\x84webm", "audio"),
    ("a.txt", "您好。".encode(), "transcript"),
    ("a.md", b"# Talk", "transcript"),
    ("a.vtt", b"\xef\xbb\xbfWEBVTT\n\n00:00.000 --> 00:01.000\nHello", "transcript"),
    ("a.srt", b"1\r\n00:00:00,000 --> 00:00:01,000\r\nHello", "transcript"),
]
BAD = [
    ("a.exe", b"MZ", "Only these kinds of file can be attached"),
    ("a.html", b"<script>", "Only these kinds of file can be attached"),
    ("noending", b"x", "Only these kinds of file can be attached"),
    ("a.mp3", b"<html>", "not in mp3 format, although its name says so"),
    ("a.mp3", b"\xff\xf1\x50\x80" + bytes(60), "not in mp3 format, although its name says so"),
    ("a.wav", b"RIFF\x00\x00\x00\x00AVI ", "not in wav format, although its name says so"),
    ("a.webm", b"\x1a\x45\xdf\xa3matroska", "not in webm format, although its name says so"),
    ("a.txt", b"\xff\xfe\x00", "not in txt format, although its name says so"),
    ("a.txt", b"a\x00b", "not in txt format, although its name says so"),
    ("a.vtt", b"Hello", "not in vtt format, although its name says so"),
    ("a.txt", b"", "empty"),
]


@pytest.mark.parametrize(("name", "content", "kind"), GOOD)
def test_a_file_is_kept_under_a_random_name_with_its_hash(study, desk, var, name, content, kind):
    person = begun(study)
    assert upload(desk, person, name, content).status_code == 302
    kept = Attachment.objects.get()
    assert (kept.name, kept.kind, kept.size, kept.added_by.username) == (name, kind, len(content), "ada")
    assert re.fullmatch(r"interviews/[0-9a-f]{32}", kept.path)
    assert (var / kept.path).read_bytes() == content
    assert attachments.hashlib.sha256(content).hexdigest() == kept.sha256
    assert (var / kept.path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("name", "content", "why"), BAD)
def test_a_file_that_is_not_what_it_says_is_refused_with_the_reason(study, desk, var, name, content, why):
    page = upload(desk, begun(study), name, content)
    assert page.status_code == 400
    assert why in text(page)
    assert (Attachment.objects.count(), list(var.glob("interviews/*"))) == (0, [])


def test_a_file_that_is_too_large_is_refused(study, desk, monkeypatch):
    monkeypatch.setitem(attachments.LIMITS, "transcript", 10)
    monkeypatch.setitem(attachments.LIMITS, "audio", 2 * attachments.MEGABYTE)
    person = begun(study)
    assert "too large" in text(upload(desk, person, "a.txt", b"x" * 11))
    assert "at most 2 MB" in text(upload(desk, person, "a.mp3", b"ID3" + bytes(2 * attachments.MEGABYTE)))
    assert Attachment.objects.count() == 0


def test_who_did_not_agree_to_be_recorded_is_not(study, desk):
    person = begun(study, box=False)
    page = upload(desk, person, agreed="on")
    assert page.status_code == 400
    assert f"{person.row.code} did not agree to be recorded in the consent form. No recording can be attached." in text(
        page
    )
    assert upload(desk, person, "a.txt", b"Notes").status_code == 302


@pytest.mark.parametrize("box", ["absent", None])
def test_where_the_form_does_not_ask_the_researcher_confirms(study, desk, box):
    person = begun(study, box=box)
    assert "Please confirm that they agreed to it." in text(upload(desk, person))
    assert upload(desk, person, agreed="on").status_code == 302


def test_a_file_is_only_for_researchers_and_nothing_that_a_browser_runs(study, desk):
    person = begun(study)
    upload(desk, person, 'a"b.md', b"<script>alert(1)</script>")
    place = address("interview-file", person, Attachment.objects.get().pk)
    response = desk.get(place)
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["Content-Disposition"].startswith("attachment; filename=")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert Client().get(place).status_code == 302
    assert person.client.get(place).status_code == 302


@pytest.mark.django_db(transaction=True)
async def test_a_large_recording_comes_whole_in_pieces():
    from asgiref.sync import sync_to_async

    content = b"ID3" + bytes(range(256)) * 4000

    def prepare():
        study = factories.study()
        interview = factories.interview(factories.person(study))
        file = SimpleUploadedFile("a.mp3", content)
        return attachments.attach(interview, file, agreed=True), User.objects.create(
            username="ada", is_staff=True, is_superuser=True
        )

    kept, ada = await sync_to_async(prepare)()
    client = AsyncClient()
    await client.aforce_login(ada)
    code = await sync_to_async(lambda: kept.interview.participation.code)()
    response = await client.get(f"/research/demo/interviews/{code}/files/{kept.pk}/")
    assert b"".join([piece async for piece in response.streaming_content]) == content


def test_a_file_is_removed_with_its_passages_after_asking(study, desk, var):
    person = begun(study)
    upload(desk, person, "a.txt", b"She paused.")
    kept = Attachment.objects.get()
    code(desk, person, f"file:{kept.pk}", "She paused.")
    place = address("interview-file-remove", person, kept.pk)
    assert "1 coded passage from this file is removed too" in text(desk.get(place))
    assert (var / kept.path).exists()
    desk.post(place)
    assert (Attachment.objects.count(), Passage.objects.count(), (var / kept.path).exists()) == (0, 0, False)


def test_a_file_of_another_person_is_not_found_under_this_one(study, desk):
    person, other = begun(study), begun(study)
    upload(desk, other, "a.txt", b"Theirs")
    number = Attachment.objects.get().pk
    assert desk.get(address("interview-file", person, number)).status_code == 404
    assert desk.post(address("interview-file-remove", person, number)).status_code == 404


# Coding


def code(desk, person, source, words, code="stock phrases", memo=""):
    given = {"source": source, "text": words, "code": code, "memo": memo}
    return desk.post(address("interview-coding", person), given)


def test_a_passage_stands_word_for_word_in_an_answer_a_note_or_a_transcript(study, desk):
    person = begun(study)
    note = Interview.objects.get().notes.create(question="cs1", text="They\nnever slow down.")
    upload(desk, person, "a.txt", "“It said:\r\nI hear you.”".encode())
    factories.answer(person.row, "interview_guide", {"op1": "Ten years of practice."})
    sources = [source.key for source in desk.get(address("interview-coding", person)).context["sources"]]
    assert sources == ["answer:op1", f"note:{note.pk}", f"file:{Attachment.objects.get().pk}"]
    code(desk, person, "answer:op1", "years of practice")
    code(desk, person, f"note:{note.pk}", "They never", code="  pace  of talk ", memo="Again.")
    code(desk, person, sources[2], "It said: I hear")
    rows = Passage.objects.order_by("pk").values_list("source", "text", "code", "memo", "coder__username")
    assert list(rows) == [
        ("answer:op1", "years of practice", "stock phrases", "", "ada"),
        (f"note:{note.pk}", "They\nnever", "pace of talk", "Again.", "ada"),
        (sources[2], "It said:\nI hear", "stock phrases", "", "ada"),
    ]


@pytest.mark.parametrize(
    ("source", "words", "field"),
    [("note:{}", "They always", "text"), ("note:{}", "   ", "text"), ("note:999999", "They", "source")],
)
def test_words_that_are_not_there_are_refused(study, desk, source, words, field):
    person = begun(study)
    note = Interview.objects.get().notes.create(question="cs1", text="They never.")
    page = code(desk, person, source.format(note.pk), words)
    assert (page.status_code, list(page.context["form"].errors)) == (400, [field])
    assert Passage.objects.count() == 0


@pytest.mark.parametrize(
    ("given", "wanted", "found"),
    [
        ("a (b) c*", "(b) c*", "(b) c*"),
        ("one\n\n two", "one two", "one\n\n two"),
        ("您好。再见", "好。", "好。"),
        ("abc", "", None),
        ("abc", "abd", None),
    ],
)
def test_passage_in(given, wanted, found):
    assert coding.passage_in(given, wanted) == found


def test_codes_are_counted_offered_and_renamed_everywhere(study, desk):
    for _ in range(2):
        factories.interview(factories.person(study), "Words.")
    test = factories.interview(factories.person(study, is_test=True), "Words.")
    other = factories.study("other")
    factories.interview(factories.person(other), "Words.")
    counted = desk.get(address("interview-codes") + "?test=no").context["codes"]
    assert [vars(one) for one in counted] == [{"code": "stock phrases", "passages": 2, "people": 2}]
    desk.post(address("rename-code"), {"was": "stock phrases", "becomes": " empty  phrases "})
    assert sorted(Passage.objects.values_list("code", flat=True)) == [*["empty phrases"] * 3, "stock phrases"]
    assert test.passages.get().code == "empty phrases"


def test_unmarking_takes_one_passage_off(study, desk):
    person = begun(study)
    interview = Interview.objects.get()
    passages = [interview.passages.create(source="answer:op1", text="x", code=name) for name in ("a", "b")]
    desk.post(address("unmark", person, passages[0].pk))
    assert [passage.code for passage in interview.passages.all()] == ["b"]


def candidate(person, name, definition="", example=""):
    person.candidate_dimensions.create(study=person.study, name=name, definition=definition, example=example)


def test_candidates_are_counted_by_people_whatever_their_capitals(study):
    one, two = factories.person(study), factories.person(study)
    for person, name in ((one, "Pacing"), (two, "pacing"), (two, "Warmth"), (one, "Pacing of replies")):
        candidate(person, name)
    counted = coding.count_candidates(study.candidate_dimensions.all())
    assert [(each.name, each.people) for each in counted] == [("Pacing", 2), ("Pacing of replies", 1), ("Warmth", 1)]


def test_merged_candidates_count_each_person_once_and_lose_no_words(study, desk):
    one, two = factories.person(study), factories.person(study)
    candidate(one, "Pacing", "Leaves time.")
    candidate(one, "Speed", "Not too fast.", "Conversation 2")
    candidate(two, "speed", "Slow enough.")
    desk.post(address("merge-candidates"), {"was": "Speed", "becomes": "Pacing"})
    rows = CandidateDimension.objects.order_by("pk").values_list("participation", "name", "definition", "example")
    assert list(rows) == [
        (one.pk, "Pacing", "Leaves time.\nNot too fast.", "Conversation 2"),
        (two.pk, "Pacing", "Slow enough.", ""),
    ]


def test_merging_a_name_with_itself_changes_nothing(study):
    person = factories.person(study)
    candidate(person, "Pacing")
    assert coding.merge_candidates(study, was="Pacing", becomes="pacing") == 0
    assert CandidateDimension.objects.get().name == "Pacing"


# Out


def test_the_document_holds_every_interview_and_reaches_nothing(study, desk):
    person = at_interview(study)
    write_up_to(person, 9)
    factories.interview(factories.person(study), "<b>Heard</b> today.")
    factories.interview(factories.person(study, is_test=True), "Not of a person.")
    response = desk.get(address("interviews-document") + "?test=no")
    page = text(response)
    assert response.headers["Content-Disposition"] == 'attachment; filename="demo-interviews.html"'
    assert response.headers["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert [page.count(f"My {item}.") for item in EVERY] == [1] * len(EVERY)
    assert ("&lt;b&gt;Heard&lt;/b&gt; today." in page, "<b>Heard" in page) == (True, False)
    assert "Not of a person." not in page
    assert re.findall(r"(?:src|href|url)\s*[=(]", page) == []
    assert [arm for arm in ARMS[:2] if arm in page] == []


def test_an_erased_person_leaves_no_file(study, desk, var):
    person = begun(study)
    upload(desk, person)
    path = Attachment.objects.get().path
    person.client.post("/leave/", {"choice": "delete"})
    assert ((var / path).exists(), Interview.objects.count(), Study.objects.count()) == (False, 0, 1)
