"""Nothing that reaches a participant's or counsellor's browser before the debrief names or betrays the arm.

Bots of both tracks and languages walk whole studies through a real server and a real server of models. Their arms bear
marker names wherever an arm can; all that is answered is kept (tests/leaks/recorder.py) and searched (scan.py).
"""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args
from urllib.parse import quote

import pytest
from django.core import signing
from django.urls import Resolver404, URLPattern

from dialogue.chat.chat_frames import ErrorCode
from studies.urls import urlpatterns
from tests.leaks import markers
from tests.leaks.markers import FLOOR, HALLS, RATE, ROOMS, Marker
from tests.leaks.recorder import Heard, Passed, Recorder, unpacked
from tests.leaks.scan import Hit, Scan
from tests.leaks.twins import FRAME_KEYS, account, differences, too_early, wrong_keys
from tests.leaks.walkers import FIRST
from tests.leaks.world import REVIEWERS, TWINS, Walked, Who, World, walked_worlds

RESEARCHERS = ("api-newest", "oncall-alarm")  # beside those whose name says so
CONSENT = {("provider", "GET /study/ 200 consent")}
TOLD_AT_LAST = {("title", "GET /study/ 200 blinding"), ("title", "GET /study/ 200 debrief")}
TOLD_TO_TWINS = {("provider", "GET /study/ 200 consent"), *TOLD_AT_LAST}
COMPARED = {
    "GET /study/ 200 chat head",
    "GET /study/ 200 chat body",
    "GET /study/ 200 run2.rating.emoharbor_10 body",
    "WS /ws/chat/*/ reply frame",
}
OF_CHECKPOINTS = {"GET /study/ 200 run2.chat body", "WS /ws/chat/*/ pause frame"}  # which interrupt no role


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    return walked_worlds(tmp_path_factory.mktemp("leaks"))


def hits_in(heard: list[Heard], sought: list[Marker]) -> list[Hit]:
    scan = Scan(sought)
    scan.read(heard)
    return scan.hits()


def unexpected(hits: list[Hit], expected: set[tuple[str, str]]) -> list[Hit]:
    return [hit for hit in hits if hit.part != "body" or (hit.kind, hit.place) not in expected]


def test_nothing_names_the_arm_before_the_debrief(walked: Walked, tell: Callable[[str], None]) -> None:
    """The consent form names all companies that get text; which of them answers when, it does not say."""
    heard, twins = walked.heard(by_twins=False), walked.heard(by_twins=True)
    sought = walked.markers()
    found, found_by_twins = hits_in(heard, sought), hits_in(twins, sought)
    leaks = [*unexpected(found, CONSENT), *unexpected(found_by_twins, TOLD_TO_TWINS)]
    places = {one.place for one in (*heard, *twins)}
    tell(f"leak scan: {len(places)} places, {len(sought)} markers, {len(leaks)} hits")
    assert leaks == []
    # And the scan sees what is there: the companies in the form, the titles where they are told.
    assert {(hit.kind, hit.place) for hit in found} == CONSENT
    assert {(hit.kind, hit.place) for hit in found_by_twins} == TOLD_TO_TWINS


def test_log_of_the_server_has_no_link_no_key_and_no_word_of_anybody(walked: Walked) -> None:
    said = walked.here.server.log.read_text(encoding="utf-8")
    tokens = [token for _code, token in walked.here.people.values()]
    words = [*FIRST.values(), "I want to die", "我写好了遗书", *markers.key_variables().values()]
    assert "Traceback" in said  # of what broke on purpose
    assert [text for text in (*tokens, *words) if text in said] == []


# That there was something to find, and that all was looked at


def test_every_marker_was_there_to_leak(walked: Walked) -> None:
    texts = [walked.stored, json.dumps(walked.asked), json.dumps(markers.key_variables())]
    known = [Heard("the server", "what it knows", "row", text) for text in texts]
    found = {hit.marker for hit in hits_in(known, walked.markers())}
    assert [marker for marker in walked.markers() if marker.text not in found] == []
    assert "I am zqmodel7x, made by zqprovider7x." in walked.stored


def test_models_failed_with_the_markers_in_their_errors(walked: Walked) -> None:
    calls = "".join(line for line in walked.stored.splitlines() if line.startswith('INSERT INTO "dialogue_call"'))
    told = [f"{arm.name('model')} {arm.name('error')}" for arm in (*ROOMS, *HALLS) if "status" in arm.behaviour]
    assert len(told) == 2
    assert [names for names in told if names not in calls] == []


def is_researchers(name: str) -> bool:
    return name in RESEARCHERS or name.startswith("research-")


def test_every_address_of_a_person_was_visited(walked: Walked) -> None:
    heads = [heard.place for heard in walked.here.recorder.heard if heard.part == "head"]
    visited = {place.split()[1].split("?")[0].lstrip("/") for place in heads}
    own = [one for one in urlpatterns if isinstance(one, URLPattern) and not is_researchers(one.name)]
    assert [pattern.name for pattern in own if not any(matches(pattern, path) for path in visited)] == []


def matches(pattern: URLPattern, path: str) -> bool:
    try:
        return pattern.resolve(path) is not None
    except Resolver404:
        return False


def test_every_frame_refusal_and_status_was_heard(walked: Walked) -> None:
    came = [passed.frame for passed in walked.here.recorder.passed if not passed.outward]
    assert {frame["type"] for frame in came} == set(FRAME_KEYS)
    assert {frame["code"] for frame in came if frame["type"] == "error"} == set(get_args(ErrorCode))
    answers = [heard.place.split()[2] for heard in walked.here.recorder.heard if heard.part == "head"]
    assert {"101", "200", "204", "302", "303", "400", "403", "404", "405", "500"} <= set(answers)
    assert "1011 " in {heard.text for heard in walked.here.recorder.heard if heard.part == "close"}


@pytest.mark.parametrize("reviewer", REVIEWERS, ids=lambda who: who.name)
def test_reviewers_read_what_was_said_and_were_not_told_by_whom(walked: Walked, reviewer: Who) -> None:
    pages = [one for one in walked.here.recorder.heard if one.who == walked.here.code(reviewer.name)]
    bodies = [one.text for one in pages if one.part == "body"]
    assert any(FIRST[reviewer.language] in body for body in bodies)
    assert [body for body in bodies if "zqplan" in body] == []
    codes = [code for code, _token in walked.here.people.values() if code != walked.here.code(reviewer.name)]
    codes += [code for (code,) in walked.here.rows("SELECT DISTINCT code FROM dialogue_conversation")]
    assert [code for code in codes if any(code in body for body in bodies)] == []
    places = {one.place for one in pages}
    assert "POST /study/ 303" in places
    assert any(place.startswith("GET /study/ 200 pairs") for place in places)
    assert "GET /study/ 200 debrief" in places


# What tells no name and might betray the arm all the same


def test_frames_hold_what_the_contract_says_and_no_more(walked: Walked) -> None:
    for world in (walked.here, walked.there):
        assert wrong_keys(world.recorder.passed) == []


@pytest.mark.parametrize("twin", TWINS, ids=lambda who: who.name)
def test_pages_and_frames_are_the_same_with_another_arm(walked: Walked, twin: Who) -> None:
    assert arms_of(walked.here, twin.name) == arms_of(walked.there, twin.name)[::-1]
    here, there = told(walked.here, twin.name), told(walked.there, twin.name)
    compared = COMPARED | OF_CHECKPOINTS if twin.track == "participant" else COMPARED
    assert {text.splitlines()[0] for text in here} >= compared
    found = differences(here, there)
    assert found == [], "\n".join(found)


def arms_of(world: World, name: str) -> list[str]:
    query = "SELECT r.arm FROM studies_armrun r JOIN studies_participation p ON p.id = r.participation_id"
    return [arm for (arm,) in world.rows(f"{query} WHERE p.code = '{world.code(name)}' ORDER BY r.position")]


def told(world: World, name: str) -> list[str]:
    return account(world.recorder, world.code(name), list(world.bots[name].talks))


@pytest.mark.parametrize("twin", [who.name for who in TWINS])
def test_no_piece_comes_sooner_than_the_pace_of_the_study_allows(walked: Walked, twin: str) -> None:
    for world in (walked.here, walked.there):
        conversations = world.recorder.frames_of(world.code(twin)).values()
        assert len(conversations) == 2
        for passed in conversations:
            assert {"chunk", "reply"} <= {one.frame["type"] for one in passed}
            assert too_early(passed, floor=FLOOR, rate=RATE) == []


# That the scanner and the comparisons can fail

SECRET = Marker("key", "zqPlanted1x")
OTHER_SECRET = Marker("title", "靉靆题")
HIDDEN: dict[str, Callable[[str], str]] = {
    "plain": str,
    "in capitals": str.upper,
    "within a word": lambda text: f"arm-{text}-2",
    "backwards": lambda text: text[::-1],
    "hex": lambda text: text.encode().hex(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, from its second byte": lambda text: base64.b64encode(f"a{text}!".encode()).decode(),
    "base64, from its third byte": lambda text: base64.b64encode(f"ab{text}!".encode()).decode(),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(f"???{text}".encode()).decode(),
    "HTML, decimal": lambda text: "".join(f"&#{ord(sign)};" for sign in text),
    "HTML, hexadecimal": lambda text: "".join(f"&#x{ord(sign):x};" for sign in text),
    "percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "percent where needed": quote,
    "JSON": lambda text: "".join(f"\\u{ord(sign):04x}" for sign in text),
    "JSON where needed": lambda text: json.dumps(text)[1:-1],
    "sha256": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "sha256, its beginning": lambda text: hashlib.sha256(text.encode()).hexdigest()[:8],
    "md5 of the small letters": lambda text: hashlib.md5(text.lower().encode()).hexdigest(),
}


@pytest.mark.parametrize("secret", [SECRET, OTHER_SECRET], ids=["Latin", "Chinese"])
@pytest.mark.parametrize("hide", HIDDEN.values(), ids=HIDDEN.keys())
@pytest.mark.parametrize("part", ["head", "body", "frame"])
def test_planted_marker_is_found(walked: Walked, part: str, hide: Callable[[str], str], secret: Marker) -> None:
    clean = next(one for one in walked.here.recorder.heard if one.part == part and len(one.text) > 60)
    middle = len(clean.text) // 2
    planted = replace(clean, text=f"{clean.text[:middle]} {hide(secret.text)} {clean.text[middle:]}")
    scan = Scan([secret])
    scan.read([clean])
    assert scan.hits() == []
    scan.read([planted])
    assert {(hit.place, hit.part, hit.marker) for hit in scan.hits()} == {(clean.place, part, secret.text)}


def test_marker_in_a_signed_and_compressed_cookie_is_found() -> None:
    value = signing.dumps({"arm": SECRET.text, "more": "a" * 200}, key="any", compress=True)
    assert value.startswith(".")
    scan = Scan([SECRET])
    scan.read([Heard("somebody", "GET /", "cookie", unpacked(value))])
    assert [hit.marker for hit in scan.hits()] == [SECRET.text]


def test_marker_that_is_cut_into_pieces_is_found() -> None:
    recorder = Recorder()
    pieces = [(0, "I am zqPl"), (9, "anted1x."), (0, "I am here.")]
    recorder.passed = [passed("chunk", turn=1, seq=1, at=at, text=text) for at, text in pieces]
    scan = Scan([SECRET])
    scan.read(recorder.joined())
    assert [(hit.part, hit.marker) for hit in scan.hits()] == [("text", SECRET.text)]


def passed(kind: str, *, outward: bool = False, time: float = 0.0, **frame: Any) -> Passed:
    return Passed("somebody", "/ws/chat/A/", outward, time, {"type": kind, **frame})


def test_number_in_a_frame_that_the_contract_does_not_know_is_found() -> None:
    frames = [passed("superseded"), passed("failed", seq=1, turn=1), passed("failed", seq=1, turn=1, arm=2)]
    assert wrong_keys(frames) == [frames[2].frame]


def test_page_that_differs_by_the_arm_is_found(walked: Walked) -> None:
    name = TWINS[0].name
    recorder, code = walked.here.recorder, walked.here.code(name)
    changed = [
        replace(one, text=one.text.replace("data-conversation=", 'data-n="1" data-conversation='))
        if one.who == code
        else one
        for one in recorder.heard
    ]
    other = replace(walked.here, recorder=Recorder(changed, recorder.passed))
    assert any('data-n="1"' in line for line in differences(told(walked.here, name), told(other, name)))


@pytest.mark.parametrize(
    ("time", "at", "text", "found"),
    [
        (1.29, 0, "a", ["chunk of 1 characters, 0.010 s too early"]),
        (1.30, 0, "a", []),
        (1.46, 40, "a" * 10, ["chunk of 50 characters, 0.010 s too early"]),
        (1.48, 40, "a" * 10, []),
    ],
)
def test_piece_that_comes_too_soon_is_found(time: float, at: int, text: str, found: list[str]) -> None:
    frames = [
        passed("message", outward=True, time=1.0, id="one", text="Hello"),
        passed("ack", time=1.1, id="one", turn=1),
        passed("chunk", time=time, seq=3, turn=1, at=at, text=text),
    ]
    assert too_early(frames, floor=0.3, rate=200.0) == found


def test_arms_have_names_that_are_nowhere_else() -> None:
    texts = [marker.text for marker in markers.markers()]
    assert len(set(texts)) == len(texts)
    assert [text for text in texts for other in texts if text != other and text in other] == []
