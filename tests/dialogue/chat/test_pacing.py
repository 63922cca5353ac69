"""How a growing reply is shown: evenly, and without the model's name. Time is a number here, not a clock."""

from itertools import pairwise

import pytest

from dialogue.chat.pacing import LONGEST_WINDOW, WINDOW, Pace, PacedReply, Pacing, window_among

REPLY = "That sounds hard. What weighs on you most in it? I am listening."


def shown_over_time(pieces, pacing, *, until=60.0, window=WINDOW):
    """(time, text so far) at each moment at which something was shown. `pieces`: (time of arrival, text)."""
    pace = Pace(pacing, 0.0)
    pace.window = window
    showing = PacedReply(pacing, pace)
    arrivals, now, seen = list(pieces), 0.0, []
    while now < until and (arrivals or showing.waits()):
        while arrivals and arrivals[0][0] <= now:
            showing.add(arrivals.pop(0)[1])
        if not arrivals:
            showing.finish()
        if showing.take(now):
            seen.append((now, showing.out()))
        now += WINDOW / 8
    return seen


def test_pieces_pass_as_they_come_where_nothing_is_to_be_even():
    seen = shown_over_time([(0.0, "That "), (1.0, "sounds hard.")], Pacing())
    assert [text for _, text in seen] == ["That ", "That sounds hard."]


def test_pieces_within_a_window_go_out_together():
    showing = PacedReply(Pacing(), Pace(Pacing(), 0.0))
    showing.add("That ")
    assert showing.take(0.0) == "That "
    showing.add("sounds ")
    assert showing.take(WINDOW / 2) == ""
    showing.add("hard.")
    assert showing.take(WINDOW) == "sounds hard."


def test_pieces_are_larger_where_many_replies_are_shown_at_once():
    assert window_among(1) == window_among(30) == WINDOW
    assert WINDOW < window_among(60) < window_among(90) < window_among(200) == LONGEST_WINDOW


@pytest.mark.parametrize("rate", [15.0, 40.0])
def test_larger_pieces_take_no_more_and_no_less_time(rate):
    few, many = (
        shown_over_time([(0.0, REPLY)], Pacing(rate=rate), window=window) for window in (LONGEST_WINDOW, WINDOW)
    )
    assert len(few) < len(many) / 2
    assert few[-1][1] == many[-1][1] == REPLY
    assert few[-1][0] == pytest.approx(many[-1][0], abs=LONGEST_WINDOW + WINDOW)


@pytest.mark.parametrize("first", [0.0, 0.3, 1.4])
def test_fast_and_faster_partners_begin_at_the_same_moment(first):
    seen = shown_over_time([(first, REPLY)], Pacing(floor=1.5))
    assert seen[0][0] == pytest.approx(1.5, abs=WINDOW)


def test_slow_partner_begins_when_it_begins():
    assert shown_over_time([(2.0, REPLY)], Pacing(floor=1.5))[0][0] == pytest.approx(2.0, abs=WINDOW)


@pytest.mark.parametrize("gap", [0.0, 0.001, 0.01])
@pytest.mark.parametrize("rate", [15.0, 40.0, 300.0])
def test_no_partner_runs_faster_than_the_rate(gap, rate):
    words = [word + " " for word in REPLY.split(" ")]
    seen = shown_over_time([(gap * number, word) for number, word in enumerate(words)], Pacing(rate=rate))
    assert seen[-1][1] == "".join(words)
    for now, text in seen:
        assert len(text) <= rate * (now + 2 * WINDOW) + 1


def test_text_does_not_burst_after_a_stall():
    seen = dict(shown_over_time([(0.0, "Well."), (10.0, "x" * 200)], Pacing(rate=50.0)))
    late = sorted((now, len(text)) for now, text in seen.items() if now >= 10.0)
    assert late[0][1] <= len("Well.") + 2 * 50.0 * WINDOW + 1
    assert late[-1][1] == 205


def test_pace_goes_on_over_a_second_attempt():
    pacing = Pacing(floor=1.0, rate=10.0)
    pace = Pace(pacing, 0.0)
    first = PacedReply(pacing, pace)
    first.add("Broken ")
    assert (first.take(0.5), first.take(1.0)) == ("", "B")
    second = PacedReply(pacing, pace)
    second.add("Whole.")
    assert second.take(1.0) == ""
    assert second.take(1.2) == "W"


NAMED = "I hear you. I am ChatGPT, made by OpenAI. What weighs on you most?"


def test_name_is_on_the_screen_at_no_moment():
    pacing = Pacing(mask=True)
    seen = shown_over_time([(0.1 * number, letter) for number, letter in enumerate(NAMED)], pacing)
    assert all(later.startswith(earlier) for (_, earlier), (_, later) in pairwise(seen))
    assert not [text for _, text in seen if "chat" in text.lower() or "openai" in text.lower()]
    assert seen[-1][1] == pacing.visible_text(NAMED)
    assert seen[-1][1].startswith("I hear you. I am ")
    assert seen[-1][1].endswith(" What weighs on you most?")


def test_name_stays_where_the_study_only_flags_it():
    assert shown_over_time([(0.0, NAMED)], Pacing())[-1][1] == NAMED
