"""The table cell by cell: every visitor at every route of a small study, as real requests."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit
from zlib import crc32

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone

from dialogue.models import Call, InnerState, RiskEvent
from dialogue.seekers.profiles import as_content, load_profiles
from emostudy.asgi import application
from studies.access.table import NAMESPACES, RIGHTS, ROUTES, SAFE_METHODS, SOCKETS, Act, ByArgument, Kind, Methods
from studies.api.throttles import Throttle
from studies.builder.drafts import copy_study
from studies.models import AdverseEvent, PairPlan, SeekerProfile, Study, StudyDraft
from studies.models.membership import Role
from studies.second_raters.comparisons import Drawing
from studies.seeker_profiles.selection import DEMO_PROFILES
from studies.workbench import tasks
from tests import factories
from tests.amounts import choose
from tests.studies.access.routes import Route, every_route, every_socket

STUDY, OTHER = "hearts", "spades"
ROOT, OUTSIDER, ROLELESS, NO_STAFF, STRANGER = "root", "outsider", "roleless", "no staff", "stranger"
VISITORS = (*(role.value for role in Role), ROOT, OUTSIDER, ROLELESS, NO_STAFF, STRANGER)
METHODS = ("GET", "POST")
EVERY = choose(usual=8, full=1)  # of the cells of the table, one in so many is asked for
SIGN_IN = "/research/sign-in/"
HOME = "research-study"
# What tells a reader which arm, model or judge it was.
MARKS = ("zzarm", "zzmodel", "zzjudge", "zzthought", "zzoriginal")


@pytest.fixture(autouse=True)
def no_process(monkeypatch):
    monkeypatch.setattr(tasks, "spawn", lambda _task: None)
    monkeypatch.setattr(Throttle, "allow_request", lambda *_args: True)


def marked_study() -> Study:
    spec = factories.demo_spec()
    arms = tuple(replace(arm, key=f"zzarm{number}") for number, arm in enumerate(spec.arms))
    judges = tuple(replace(judge, key="zzjudge") for judge in spec.judges)
    study = factories.study(STUDY, arms=arms, judges=judges)
    person = factories.person(study, order=["zzarm0", "zzarm1"], status="in_review")
    run = factories.run_with_turns(study, person, arm="zzarm0", model="zzmodel")
    turn = run.conversation.turns.get(number=1)
    turn.masked, turn.reply_original = True, "zzoriginal"
    turn.save()
    factories.rating(person, run)
    factories.rating(factories.judge(study, "zzjudge"), run, 1.5)
    InnerState.objects.create(conversation=run.conversation, turn=1, source="zzjudge", emotion="zzthought")
    factories.role_play(run)
    factories.interview(person)
    factories.reviewed(run, factories.person(study, track="reviewer"))
    PairPlan.objects.create(study=study, name="all", instrument="pairwise_support", source=asdict(Drawing()))
    Call.objects.create(purpose="reply", conversation=run.conversation, turn=1, model="zzmodel")
    profile = as_content(load_profiles(DEMO_PROFILES)[0])
    SeekerProfile.objects.create(study=study, key="p1", language="en", content=profile, origin="people.json")
    RiskEvent.objects.create(conversation=run.conversation, subject=person.code, source="message", level=3)
    AdverseEvent.objects.create(
        study=study, origin="hand", occurred_at=timezone.now(), severity="mild", relatedness="unlikely"
    )
    return study


@pytest.fixture
def study():
    factories.study(OTHER)
    return marked_study()


def visitor(name: str, study: Study) -> Client:
    client = Client(raise_request_exception=False)
    if name != STRANGER:
        client.force_login(account(name, study))
    return client


def account(name: str, study: Study) -> User:
    user = User.objects.create(username=name, is_staff=name != NO_STAFF, is_superuser=name == ROOT)
    if name in list(Role):
        factories.grant(study, user, name)
    if name == OUTSIDER:
        factories.grant(Study.objects.get(key=OTHER), user, *Role)
    return user


def places(study: Study) -> dict[str, str]:
    run = study.runs.exclude(participation=None).get(arm="zzarm0")
    text, files = copy_study(study.current())
    draft = StudyDraft.objects.create(study=study, text=text, files=files, owner_name="ada")
    return {
        "study_key": study.key,
        "key": study.key,
        "person": run.participation.code,
        "conversation": run.conversation.code,
        "draft": draft.pk,
        "card": "en01",
        "command": "export",
        "account": factories.grant(study, User.objects.create_user("colleague", is_staff=True), Role.READER).pk,
        "slug": "arms",
        "name": "bank",
        "instrument": "emoharbor_10",
        "item": "safety",
        "/reviews/": study.review_plans.get().pk,
        "/pairs/": study.pair_plans.get().pk,
        "arm": "zzarm0",
        "version": "1",
        "/notes/": run.participation.interview.notes.get().pk,
        "/risks/": RiskEvent.objects.get().pk,
        "/adverse/": study.adverse_events.get().pk,
        "/calls/": Call.objects.get().pk,
        "token": "no-token",
        "uidb64": "MQ",
    }


def address_of(route: Route, known: dict[str, str]) -> str:
    """The address with what the study has in its places; some places have other things in other rooms."""
    of_conversation = "/conversations/" in route.address or "/differing/" in route.address
    values = {**known, "code": known["conversation" if of_conversation else "person"]}
    rooms = [room for room in known if room.startswith("/") and room in route.address]
    if rooms:
        values["number"] = known[rooms[-1]]
    if not route.address.startswith("/api/"):
        values["key"] = "p1" if "/profiles/" in route.address else known["card"]
    return route.filled(values)


def acts_needed(name: str, method: str, arguments: dict[str, str]) -> Kind | set[Act]:
    need = ROUTES.get(name) or NAMESPACES[name.split(":")[0]]
    if isinstance(need, Methods):
        need = need.look if method in SAFE_METHODS else need.change
    if isinstance(need, Kind):
        return need
    if isinstance(need, ByArgument):
        return {need.acts[arguments[need.argument]]}
    return {need} if isinstance(need, Act) else set(need)


def may_pass(who: str, need: Kind | set[Act]) -> bool:
    if not isinstance(need, Kind):
        role = Role.ADMIN if who == ROOT else who
        return any(role in RIGHTS[act].roles for act in need)
    if need == Kind.INSTALLATION:
        return who == ROOT
    if need == Kind.FOUNDER:
        return who in (Role.ADMIN, Role.RESEARCHER, ROOT, OUTSIDER)
    return need in (Kind.ANYONE, Kind.PERSON, Kind.TOKEN) or who not in (NO_STAFF, STRANGER)


def answer(client: Client, method: str, path: str):
    """The response; whatever the request changed is undone."""
    with transaction.atomic():
        response = client.get(path) if method == "GET" else client.post(path)
        if response.streaming:
            b"".join(response.streaming_content)  # a file is made while it is read
        transaction.set_rollback(True)
    return response


def is_refused(response) -> bool:
    refusals = {"studies/research/refused.html", "studies/research/not_found.html", "404.html", "403.html"}
    refusals.add("studies/research/too_long.html")  # strangers' forms
    templates = {template.name for template in getattr(response, "templates", [])}
    to_sign_in = response.status_code == 302 and response["Location"].startswith(SIGN_IN)
    in_api = response.request["PATH_INFO"].startswith("/api/") and response.status_code in (401, 403, 404)
    return to_sign_in or in_api or (response.status_code in (403, 404) and bool(templates & refusals))


def browser_routes() -> list[Route]:
    return [route for route in every_route() if route.name not in ("research-sign-out", "admin:logout")]


@pytest.mark.django_db
@pytest.mark.parametrize("who", VISITORS)
def test_a_visitor_reaches_what_the_table_says_and_nothing_else(who, study):
    """Whoever may pass gets what an admin who holds every role gets; everyone else is refused."""
    known = places(study)
    client, holder = visitor(who, study), holder_of_all_roles(study)
    wrong = []
    for route in browser_routes():
        for method in METHODS:
            need, path = acts_needed(route.name, method, known), address_of(route, known)
            if isinstance(need, Kind) and need in (Kind.ANYONE, Kind.PERSON, Kind.TOKEN):
                continue
            if crc32(f"{who} {method} {route.address}".encode()) % EVERY:
                continue
            got = answer(client, method, path)
            if may_pass(who, need):
                full = status_for_holder(holder, method, route, path)
                good = got.status_code == full and got.status_code < 500
            elif route.name == HOME and method in METHODS and who in HOMES:
                good = got.status_code == 302 and got["Location"] == reverse(HOMES[who], args=[STUDY])
            else:
                good = is_refused(got)
            if not good:
                wrong.append((method, route.name, path, got.status_code))
    assert wrong == [], "\n".join(map(str, wrong))


def holder_of_all_roles(study: Study) -> Client:
    holder = Client(raise_request_exception=False)
    admin = User.objects.create_superuser("holder", password="x")  # visitors have a usable one too
    holder.force_login(factories.grant(study, admin, Role.SAFETY_OFFICER))
    return holder


statuses: dict[tuple[str, Route], int] = {}  # asked for once: the study of each test is the same


def status_for_holder(holder: Client, method: str, route: Route, path: str) -> int:
    if (method, route) not in statuses:
        statuses[method, route] = answer(holder, method, path).status_code
    return statuses[method, route]


HOMES = {Role.CODER: "research-quality", Role.REVIEWER: "research-conversations", Role.COUNSELLOR: "research-cards"}


class Ways(HTMLParser):
    """Where a page leads: the method and the address of each link, form, and button with an address of its own."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page, self.found = page, set()
        self.form = ("GET", page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and "href" in given:
            self.add("GET", given["href"])
        elif tag == "form":
            self.form = (given.get("method") or "get").upper(), given.get("action") or self.page
            self.add(*self.form)
        elif tag == "button" and "formaction" in given:
            self.add(self.form[0], given["formaction"])

    def add(self, method: str, address: str | None) -> None:
        parts = urlsplit(urljoin(f"http://testserver{self.page}", address or ""))
        if parts.scheme == "http" and parts.hostname == "testserver":
            self.found.add((method, parts.path))


def ways_from(page: str, body: str) -> set[tuple[str, str]]:
    ways = Ways(page)
    ways.feed(body)
    return ways.found


@pytest.mark.django_db
@pytest.mark.parametrize("who", [role.value for role in Role])
def test_every_link_and_button_of_a_page_leads_where_its_reader_may_go(who, study):
    known = places(study)
    client = visitor(who, study)
    wrong, seen = set(), 0
    for route in browser_routes():
        need, path = acts_needed(route.name, "GET", known), address_of(route, known)
        if not route.name.startswith("research-") or not may_pass(who, need):
            continue
        got = answer(client, "GET", path)
        if got.status_code != 200 or got.streaming or not got["Content-Type"].startswith("text/html"):
            continue
        for method, address in ways_from(path, got.content.decode()):
            try:
                match = resolve(address)
            except Resolver404:
                continue  # a static file
            seen += 1
            if match.view_name != HOME and not may_pass(who, acts_needed(match.view_name, method, match.kwargs)):
                wrong.add((path, method, match.view_name))
    assert seen > 20  # the language and the own account alone are fewer
    assert wrong == set(), "\n".join(map(str, sorted(wrong)))


# Files on disk, a study whose researchers select, an item on which reviewers differ: refusals are seen here too, as a
# 403 before the page looks for them.
NOTHING_BEHIND = [
    *("research-applicant", "research-disagreement", "research-file", "research-interview-file"),
    *("research-interview-file-remove", "research-question", "research-report", "research-report-language"),
    *("research-questionnaire-edit", "research-questionnaire-remove"),  # of those made on the site alone
]


@pytest.mark.django_db
def test_the_small_study_has_something_behind_most_routes(study):
    """Else equal answers would say little."""
    known = places(study)
    client = visitor(ROOT, study)
    client.force_login(factories.grant(study, User.objects.get(username=ROOT), Role.SAFETY_OFFICER))
    looked = [
        (route.name, answer(client, "GET", address_of(route, known)).status_code)
        for route in browser_routes()
        if route.name.startswith("research-")
    ]
    missing = sorted(name for name, status in looked if status in (403, 404))
    assert missing == sorted(NOTHING_BEHIND)


@pytest.mark.django_db
@pytest.mark.parametrize("who", [Role.COUNSELLOR, Role.REVIEWER, Role.CODER])
def test_blind_roles_meet_no_arm_no_model_and_no_score_of_a_judge(who, study):
    known = places(study)
    client = visitor(who, study)
    told = [
        (route.name, mark)
        for route in browser_routes()
        for path in [address_of(route, known)]
        for body in [answer(client, "GET", path).content.decode(errors="replace").lower().replace(path, "")]
        for mark in MARKS
        if mark in body
    ]
    assert told == []


@pytest.mark.django_db
def test_marks_are_on_the_pages_of_a_researcher(study):
    known = places(study)
    client = visitor(Role.RESEARCHER, study)
    page = client.get(reverse("research-conversation", args=[STUDY, known["conversation"]])).content.decode()
    assert [mark for mark in MARKS if mark not in page] == []


@pytest.mark.django_db
@pytest.mark.parametrize("sort", ["arm", "judge", "far", "-arm", "profile"])
def test_the_address_of_a_list_tells_a_coder_nothing(sort, study):
    client = visitor(Role.CODER, study)
    page = reverse("research-conversations", args=[STUDY])
    usual = client.get(page).context["page"].object_list
    for query in ({"sort": sort}, {"arm": "zzarm4"}, {"judge": "zzjudge standard", "far": "0"}):
        assert client.get(page, query).context["page"].object_list == usual


def sockets() -> Iterator[tuple[str, str]]:
    return ((name, address) for name, address in every_socket() if isinstance(SOCKETS[name], Act))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("who", VISITORS)
async def test_a_visitor_opens_the_websockets_that_the_table_says(who):
    def cookie() -> list[tuple[bytes, bytes]]:
        factories.study(OTHER)
        client = visitor(who, factories.study(STUDY))
        session = client.cookies.get("emostudy_session")
        return [(b"cookie", f"emostudy_session={session.value}".encode())] if session else []

    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost"), *await database_sync_to_async(cookie)()]
    for name, address in sockets():
        path = Route(name, address).filled({"study_key": STUDY})
        socket = WebsocketCommunicator(application, path, headers=headers)
        connected, _protocol = await socket.connect(timeout=60)
        await socket.disconnect()
        assert connected == may_pass(who, {SOCKETS[name]}), (who, name)
