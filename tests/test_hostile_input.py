"""What may be sent to any address, by anyone: no page answers it with a server error.

The addresses are read from the URL patterns, the names of fields from the code and the templates, the forms from the
pages themselves, so that a new one is tried without a line here.
"""

import re
from collections import deque
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from dialogue.input_checks import int_from, is_storable, remove_unstorable
from studies.bots.page_reader import Form, read_page
from studies.workbench import tasks
from tests import factories
from tests.amounts import choose
from tests.people import Person

pytestmark = pytest.mark.django_db

NUL, DIGITS, TOO_LARGE, FORMATS = "a\0b", "9" * 5000, "9" * 20, "%s {% x %} %(a)d {0} {a}"
NUMBERS = (DIGITS, TOO_LARGE)
HOSTILE = (NUL, DIGITS, TOO_LARGE, FORMATS)
READ_BY_CODE = re.compile(r"""(?:GET|POST|data|filters|query|answers)(?:\.get|\.getlist)?[(\[]"(\w+)["]""")
OF_ALLAUTH = ("login", "password")
IN_TEMPLATE = re.compile(r'name="(\w+)"')
CONVERTER = re.compile(r"<(?:(\w+):)?(\w+)>")
FOR_RESEARCHERS = ("/research/", "/admin/", "/api/")
LEAVES = ("/sign-out/", "/logout/")  # would end the session that the others need


@pytest.fixture
def study():
    return factories.study("hearts", open_enrolment=True)


@pytest.fixture(autouse=True)
def no_process(monkeypatch):
    monkeypatch.setattr(tasks, "spawn", lambda _task: None)


@pytest.fixture
def desk():
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


def person_in_chat(track: str = "participant") -> Person:
    person = Person("hearts", track)
    person.go_to("chat", run=1)
    person.page()
    person.say()
    person.client.raise_request_exception = False
    return person


def field_names() -> list[str]:
    code = "\n".join(file.read_text(encoding="utf-8") for file in (settings.BASE_DIR / "studies").rglob("*.py"))
    pages = "\n".join(file.read_text(encoding="utf-8") for file in (settings.BASE_DIR / "templates").rglob("*.html"))
    return sorted({*READ_BY_CODE.findall(code), *IN_TEMPLATE.findall(pages), *OF_ALLAUTH})


def routes(patterns: list[URLPattern | URLResolver], before: str = "/") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif "(?P<" not in route:  # /admin/'s own catch-all
            yield route


def filled(route: str, known: dict[str, str], hostile: str = "", name: str = "") -> str:
    return CONVERTER.sub(lambda found: quote(hostile) if found[2] == name else known.get(found[2], "1"), route)


def addresses(person: Person, *beginnings: str) -> list[str]:
    """Every route that begins so, with what exists in its places."""
    known = {"study_key": "hearts", "key": "hearts", "command": "export", "token": "no-token", "name": "report.html"}
    people, talks = {**known, "code": person.row.code}, {**known, "code": person.conversation().code}
    return [
        filled(route, talks if "/conversations/" in route else people)
        for route in routes(get_resolver().url_patterns)
        if route.startswith(beginnings) and not route.endswith(LEAVES)
    ]


def hostile_addresses() -> Iterator[str]:
    """Every route with each of its places filled by what no one has."""
    for route in routes(get_resolver().url_patterns):
        for _converter, name in CONVERTER.findall(route):
            yield from (filled(route, {"study_key": "hearts"}, value, name) for value in HOSTILE)


def ask(client: Client, method: str, path: str, data: dict[str, str]) -> int:
    """The status, after the whole answer; whatever the request changed is undone."""
    with transaction.atomic():
        response = client.get(path, data) if method == "GET" else client.post(path, data)
        if response.streaming:
            deque(response.streaming_content, maxlen=0)
        transaction.set_rollback(True)
    return response.status_code


def broken_by_every_field(
    client: Client, paths: list[str], values: tuple[str, ...] = HOSTILE
) -> list[tuple[object, ...]]:
    """What breaks; of a short run each address meets every fourth value, and the next address others."""
    names = field_names()
    assert {"turn", "conversation", "step", "idempotency", "login", "page"} <= set(names)
    step = choose(usual=6, full=1)
    return [
        (method, path, value[:10])
        for place, path in enumerate(paths)
        for method in ("GET", "POST")
        for value in values[place % step :: step]
        if ask(client, method, path, dict.fromkeys(names, value)) >= 500
    ]


def broken_by_one_field(client: Client, path: str) -> list[tuple[object, ...]]:
    """The forms of a page, filled in well but for one field each time."""
    page = read_page(client.get(path).content.decode())
    step = choose(usual=6, full=1)
    return [
        (form.action or path, name, value[:10])
        for form in page.forms
        if not form.action.endswith(LEAVES)
        for place, name in enumerate(form.fields)
        for value in NUMBERS[place % step :: step]
        if ask(client, "POST", form.action or path, {**answers(form), name: value}) >= 500
    ]


def answers(form: Form) -> dict[str, str]:
    return {name: field.value or next(iter(field.options), "1") for name, field in form.fields.items()}


@pytest.mark.parametrize("track", ["participant", "counsellor"])
def test_nothing_that_a_person_sends_breaks_a_page(track, study):
    person = person_in_chat(track)
    paths = [path for path in addresses(person, "/") if not path.startswith(FOR_RESEARCHERS)]
    assert len(paths) > 15
    assert broken_by_every_field(person.client, paths) == []


def test_nothing_that_a_stranger_sends_breaks_a_page(study):
    paths = addresses(person_in_chat(), "/")
    assert broken_by_every_field(Client(raise_request_exception=False), paths, (NUL, DIGITS)) == []


def test_nothing_that_a_researcher_sends_breaks_a_page(study, desk):
    paths = addresses(person_in_chat(), *FOR_RESEARCHERS)
    assert len(paths) > 80
    assert broken_by_every_field(desk, paths) == []


def test_no_address_breaks_a_page(study, desk):
    assert [path[:80] for path in hostile_addresses() if ask(desk, "GET", path, {}) >= 500] == []


def test_no_single_field_of_a_researchers_form_breaks_it(study, desk):
    pages = addresses(person_in_chat(), "/research/")
    good = [path for path in pages if desk.get(path).headers["Content-Type"].startswith("text/html")]
    assert len(good) > 20
    assert [fault for path in good for fault in broken_by_one_field(desk, path)] == []


@pytest.mark.parametrize(
    ("track", "kind"),
    [("participant", kind) for kind in ("screening", "consent", "training", "rating")] + [("counsellor", "chat")],
)
def test_no_single_field_of_a_persons_form_breaks_it(track, kind, study):
    person = Person("hearts", track)
    person.go_to(kind)
    person.client.raise_request_exception = False
    assert broken_by_one_field(person.client, "/study/") == []


def test_draft_keeps_what_was_pasted_without_what_cannot_be_stored(study):
    person = Person("hearts")
    person.go_to("screening")
    draft = {"step": person.step.key, "issue_text": "It \0was late."}
    assert person.client.post("/study/draft/", draft).status_code == 204
    assert person.row.drafts.get().answers == {"issue_text": "It was late."}


@pytest.mark.parametrize("turn", [DIGITS, TOO_LARGE, "-1", "1 ", "٣", "1.0", ""])
@pytest.mark.parametrize(
    ("path", "fields"),
    [("/study/role/", {"answer": "me"}), ("/study/reply-rating/", {"liked": "3"}), ("/study/flag/", {"act": "save"})],
)
def test_turn_that_is_no_small_number_is_no_turn(turn, path, fields, study):
    person = person_in_chat("counsellor")
    assert person.client.post(path, {**fields, "turn": turn}).status_code == 400


@pytest.mark.parametrize("turn", [DIGITS, TOO_LARGE, "٣"])
@pytest.mark.parametrize("page", ["", "calls/"])
def test_turn_in_an_address_that_is_no_small_number_shows_the_page_without_it(turn, page, study, desk):
    code = person_in_chat().conversation().code
    address = f"/research/hearts/conversations/{code}/{page}"
    assert desk.get(address, {"turn": turn}).status_code == 200


def test_decision_about_a_conversation_of_nobody_is_not_found(study, desk):
    person = person_in_chat()
    address = f"/research/hearts/quality/{person.row.code}/decide/"
    for key in (FORMATS, "%s", "{%", "NOSUCH"):
        assert desk.post(address, {"conversation": key}).status_code == 404
    assert desk.post(address, {"conversation": person.conversation().code}).status_code == 422


@pytest.mark.parametrize(
    ("path", "data"), [("/help/?country=%00", {}), ("/study/%00/", {}), ("/help/", {"HTTP_COOKIE": r'a="\000"'})]
)
def test_nul_where_nobody_types_is_a_bad_request(path, data):
    assert Client().get(path, **data).status_code == 400


@pytest.mark.parametrize("charset", ["unicode_escape", "rot13", "utf-16", "nonsense", "utf-7"])
@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_form_in_another_encoding_is_a_bad_request(charset, kind):
    client = Client(raise_request_exception=False)
    body = b'--x\r\nContent-Disposition: form-data; name="username"\r\n\r\n\\ud800\r\n--x--\r\n'
    response = client.generic("POST", "/research/sign-in/", body, f"{kind}; charset={charset}")
    assert response.status_code == 400


@pytest.mark.parametrize("text", ["a", "ä", "😀", "多", "\r\n\t", "\x1b"])
def test_any_other_character_is_kept(text):
    assert is_storable(text)
    assert remove_unstorable(text) == text


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "\udfff\0"])
def test_what_cannot_be_stored_is_taken_out(text):
    assert not is_storable(text)
    assert is_storable(remove_unstorable(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("7", 7),
        ("007", 7),
        ("9", None),
        ("-1", None),
        ("+1", None),
        (" 1", None),
        ("1\n", None),
        ("1_0", None),
        ("٣", None),
        ("", None),
        ("1.0", None),
        (DIGITS, None),
        (TOO_LARGE, None),
        (None, None),
        (7, None),
    ],
)
def test_small_whole_numbers_are_read_and_nothing_else(text, expected):
    assert int_from(text, 0, 8) == expected
