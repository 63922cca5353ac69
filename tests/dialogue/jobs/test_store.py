"""Items: planned once, held by one, given back, never left behind."""

from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.utils import timezone

from dialogue.jobs import store
from dialogue.jobs.reasons import Reason
from dialogue.models import Call, Job, JobItem
from dialogue.models.job import LEASE
from tests.dialogue.jobs.work import STATES, at_the_same_time, job, states, wanted

pytestmark = pytest.mark.django_db

LONG_AGO = timedelta(minutes=5)


def item(subject: str) -> JobItem:
    return JobItem.objects.get(subject=subject)


def set_item(subject: str, **fields: object) -> None:
    JobItem.objects.filter(subject=subject).update(**fields)


def silent(owner: str) -> None:
    """As if its process had died some time ago."""
    JobItem.objects.filter(owner=owner).update(lease_until=timezone.now() - LONG_AGO)


def subjects(items: list[JobItem]) -> list[str]:
    return [one.subject for one in items]


# Planning


def test_item_is_there_once_for_each_subject_role_configuration_and_replicate() -> None:
    others = [wanted("a", role="x"), wanted("a", configuration="d"), wanted("a", replicate=2), wanted("b")]
    planned = job(wanted("a"), wanted("a"), *others)
    assert (planned.items, JobItem.objects.count()) == (5, 5)
    assert job(wanted("a"), *others).items == 5
    assert JobItem.objects.count() == 5


def test_later_job_takes_over_what_an_earlier_one_left() -> None:
    first = job("done", "waiting", "failed", "elsewhere").job
    set_item("done", state=STATES.DONE)
    set_item("failed", state=STATES.FAILED, failure="timeout", detail="slow", done_at=timezone.now())
    second = job("done", "waiting", "failed", "new")
    assert (second.items, second.done_before) == (3, {"test": 1})
    assert states(job=second.job) == {"waiting": "waiting", "failed": "waiting", "new": "waiting"}
    assert states(job=first) == {"done": "done", "elsewhere": "waiting"}
    assert (item("failed").failure, item("failed").detail, item("failed").done_at) == ("", "", None)


def test_item_that_somebody_works_on_is_taken_over_as_it_is() -> None:
    first = job("a").job
    store.claim("worker", limit=1)
    second = job("a").job
    assert (item("a").state, item("a").owner, item("a").job) == (STATES.WORKING, "worker", second)
    assert store.finish_if_done(first.pk)
    assert not store.finish_if_done(second.pk)


def test_quarantined_item_is_tried_again_only_when_told() -> None:
    job("a", "b")
    set_item("a", state=STATES.QUARANTINED, failure="timeout")
    planned = job("a", "b")
    assert (planned.items, planned.quarantined, item("a").state) == (1, 1, STATES.QUARANTINED)
    assert (job("a", "b", retry_quarantined=True).items, item("a").state) == (2, STATES.WAITING)


def test_job_of_which_all_is_done_is_done_at_once() -> None:
    job("a")
    set_item("a", state=STATES.DONE)
    planned = job("a")
    planned.job.refresh_from_db()
    assert (planned.items, planned.job.state) == (0, Job.State.DONE)


@pytest.mark.django_db(transaction=True)
def test_same_items_planned_at_the_same_moment_are_there_once() -> None:
    names = [f"item {n}" for n in range(40)]
    plans = at_the_same_time(*[partial(job, *names)] * 4)
    assert [planned.items for planned in plans] == [40] * 4
    assert len(states()) == JobItem.objects.count() == 40
    assert JobItem.objects.values("job").distinct().count() == 1


def test_job_may_have_more_items_than_a_statement_may_have_values() -> None:
    names = [f"item {n}" for n in range(3 * store.CHUNK)]
    job(*names)
    assert job(*names).items == len(names) == JobItem.objects.count()


@pytest.mark.parametrize(
    ("details", "ended"),
    [
        (["odd"] * 3, STATES.QUARANTINED),
        (["odd"] * 2, STATES.FAILED),
        (["odd", "odd", "gone", "odd"], STATES.FAILED),
    ],
)
def test_item_that_fails_the_same_way_three_times_in_a_row_is_in_quarantine(details: list[str], ended: str) -> None:
    for detail in details:
        job("a")
        store.claim("w", limit=1)
        store.mark_failed("w", item("a").pk, failure="client_error", detail=detail)
    assert (item("a").state, item("a").detail) == (ended, details[-1])


def test_what_stopped_a_job_does_not_count_against_its_items() -> None:
    job("before")
    set_item("before", state=STATES.QUARANTINED, failed_as="network", failed_times=3, done_at=timezone.now())
    planned = job("before", "a")
    store.claim("w", limit=5)
    store.mark_failed("w", item("a").pk, failure="network", detail="down")
    store.forgive(planned.job.pk, "network")
    assert (item("a").state, item("a").failed_times) == (STATES.FAILED, 0)
    assert (item("before").state, item("before").failed_times) == (STATES.QUARANTINED, 3)


# What an item needs


def needing(subject: str, needed: str) -> store.WantedItem:
    return wanted(subject, needs=wanted(needed).place)


def test_item_waits_for_the_one_that_it_needs() -> None:
    job(needing("judge", "think"), wanted("think"))
    assert subjects(store.claim("w", limit=5)) == ["think"]
    store.mark_done([(item("think").pk, {})])
    assert subjects(store.claim("w", limit=5)) == ["judge"]


def test_item_fails_with_the_one_that_it_needs() -> None:
    planned = job(needing("judge", "think"), wanted("think"))
    store.claim("w", limit=5)
    set_item("think", failed_as="timeout", failed_times=2)
    store.mark_failed("w", item("think").pk, failure="timeout", detail="slow")
    assert states() == {"think": "quarantined", "judge": "failed"}
    assert store.finish_if_done(planned.job.pk)


def test_item_that_needs_a_quarantined_one_does_not_wait_for_ever() -> None:
    job("think")
    set_item("think", state=STATES.QUARANTINED)
    planned = job(needing("judge", "think"), wanted("think"))
    assert (item("judge").state, item("judge").failure) == (STATES.FAILED, "needed")
    planned.job.refresh_from_db()
    assert planned.job.state == Job.State.DONE


def test_item_whose_needed_one_went_to_a_job_that_was_stopped_does_not_wait_for_ever() -> None:
    first = job(needing("judge", "think"), wanted("think")).job
    second = job("think").job
    assert store.is_something_left(first.pk)
    store.end(second.pk, Job.State.STOPPED)
    assert not store.is_something_left(first.pk)
    assert states() == {"judge": "failed", "think": "waiting"}


def test_item_planned_again_may_need_another_one() -> None:
    job(needing("judge", "think"), wanted("think"))
    job(needing("judge", "think better"), wanted("think better"))
    assert item("judge").needs == item("think better")


# Claiming


def test_item_is_held_by_one_owner() -> None:
    job("a", "b", "c")
    assert subjects(store.claim("one", limit=2)) == ["a", "b"]
    assert subjects(store.claim("two", limit=2)) == ["c"]
    assert store.claim("three", limit=2) == []


@pytest.mark.django_db(transaction=True)
def test_owners_who_claim_at_the_same_time_never_hold_the_same_item() -> None:
    job(*(f"item {n}" for n in range(60)))

    def claimed(owner: str) -> list[int]:
        found = [store.claim(owner, limit=4) for _ in range(5)]
        return [one.pk for items in found for one in items]

    held = at_the_same_time(*(partial(claimed, f"worker {n}") for n in range(4)))
    everything = [pk for items in held for pk in items]
    assert len(everything) == len(set(everything))
    for n, items in enumerate(held):
        assert set(JobItem.objects.filter(owner=f"worker {n}").values_list("pk", flat=True)) == set(items)


def test_item_of_a_silent_owner_is_taken_up_by_another() -> None:
    job("a", "b")
    store.claim("dead", limit=1)
    silent("dead")
    assert subjects(store.claim("alive", limit=5)) == ["b", "a"]  # what was never tried comes first
    assert (item("a").owner, item("a").attempts, item("b").attempts) == ("alive", 2, 1)


def test_owner_who_renews_keeps_its_items() -> None:
    planned = job("a", "b")
    held = [one.pk for one in store.claim("w", limit=2)]
    silent("w")
    standing = store.renew("w", held[:1], [planned.job.pk])
    assert standing == store.LeaseReport(lost=set(), ended=set())
    assert subjects(store.claim("other", limit=5)) == ["b"]  # which was not among those it works on


def test_owner_is_told_what_it_lost_and_what_goes_on_no_more() -> None:
    planned = job("a", "b")
    held = [one.pk for one in store.claim("slow", limit=2)]
    silent("slow")
    store.claim("quick", limit=1)
    store.end(planned.job.pk, Job.State.STOPPED)
    assert store.renew("slow", held, [planned.job.pk]) == store.LeaseReport({held[0]}, {planned.job.pk})


def test_owner_that_lost_its_lease_stores_nothing() -> None:
    job("a")
    held = store.claim("slow", limit=1)[0].pk
    silent("slow")
    store.claim("quick", limit=1)
    assert store.lock_owned("slow", [held]) == set()
    store.mark_failed("slow", held, failure="timeout", detail="")
    store.drop("slow", held)
    store.release("slow")
    with pytest.raises(store.LeaseLost):
        store.run_while_owned("slow", held, pytest.fail)
    assert (item("a").state, item("a").owner) == (STATES.WORKING, "quick")
    assert store.run_while_owned("quick", held, str, 7) == "7"
    assert store.lock_owned("quick", [held]) == {held}


def test_call_of_a_dead_owner_is_closed_when_its_item_is_taken_up() -> None:
    job("a", "b")
    for one in store.claim("dead", limit=2):
        Call.objects.create(purpose="judge", item=one, status="started", cost=Decimal(1))
    silent("dead")
    set_item("b", lease_until=timezone.now() + LEASE)
    store.claim("alive", limit=5)
    assert list(Call.objects.order_by("pk").values_list("status", "cost")) == [("stopped", 1), ("started", 1)]


def test_job_that_a_command_looks_after_is_left_alone_by_others() -> None:
    attended = job("a", attended=True).job
    job("b")
    assert subjects(store.claim("resident", limit=5)) == ["b"]
    assert subjects(store.claim("command", limit=5, job=attended.pk)) == ["a"]


def test_job_whose_command_died_or_left_is_for_all() -> None:
    died, left = job("a", attended=True).job, job("b", attended=True).job
    Job.objects.filter(pk=died.pk).update(attended_until=timezone.now() - timedelta(seconds=1))
    store.leave(left.pk)
    assert subjects(store.claim("resident", limit=5)) == ["a", "b"]


def test_only_one_item_is_claimed_where_a_broker_names_it() -> None:
    job("a", "b", attended=True)
    assert subjects(store.claim("w", limit=1, item=item("b").pk)) == ["b"]
    assert store.claim("w", limit=1, item=item("b").pk) == []


def test_items_of_a_job_that_has_ended_are_not_claimed() -> None:
    planned = job("a")
    store.end(planned.job.pk, Job.State.BUDGET)
    assert store.claim("w", limit=1) == []
    store.end(planned.job.pk, Job.State.STOPPED, Reason.of("signal"))
    planned.job.refresh_from_db()
    assert (planned.job.state, planned.job.reason) == (Job.State.BUDGET, {})


def test_released_item_is_for_all() -> None:
    job("a", "b")
    first, _ = store.claim("w", limit=2)
    store.release("w", [first.pk])
    assert states() == {"a": "waiting", "b": "working"}
    store.release("w")
    assert subjects(store.claim("other", limit=5)) == ["a", "b"]


def test_something_is_left_while_others_hold_it() -> None:
    planned = job("a")
    store.claim("w", limit=1)
    assert store.is_something_left(planned.job.pk)
    assert store.is_something_left()
    store.end(planned.job.pk, Job.State.STOPPED)
    assert store.is_something_left(planned.job.pk)  # until it has been given back
    store.release("w")
    assert not store.is_something_left(planned.job.pk)


# What a broker carries


def sent_long_ago() -> None:
    JobItem.objects.update(sent_at=timezone.now() - LONG_AGO)


def sent(limit: int = 10, *, queue_is_empty: bool = False) -> list[str]:
    return [JobItem.objects.get(pk=pk).subject for pk in store.pick_to_send(limit=limit, queue_is_empty=queue_is_empty)]


def test_each_item_is_sent_once() -> None:
    job("a", "b", "c", attended=True)
    assert [sent(2), sent(2), sent(2)] == [["a", "b"], ["c"], []]


def test_item_that_the_broker_did_not_take_is_sent_again() -> None:
    job("a")
    store.unmark_sent(store.pick_to_send(limit=1, queue_is_empty=False))
    assert sent() == ["a"]


def test_item_is_lost_when_it_waits_and_nothing_is_in_the_queue() -> None:
    job("a")
    sent()
    assert sent(queue_is_empty=True) == []
    sent_long_ago()
    assert sent(queue_is_empty=False) == []
    assert sent(queue_is_empty=True) == ["a"]


def test_item_whose_worker_died_is_sent_before_new_ones() -> None:
    job("new", "held", "needs")
    set_item("needs", needs=item("new"))
    sent()
    store.claim("dead", limit=1, item=item("held").pk)
    set_item("new", sent_at=None)
    sent_long_ago()
    set_item("new", sent_at=None)
    assert sent(1) == ["new"]  # the lease of the other still runs
    silent("dead")
    set_item("new", sent_at=None)
    assert sent(1) == ["held"]


def declined(*names: str, why: str = "The environment variable K is not set.") -> None:
    for name in names:
        store.claim("keyless", limit=1, item=item(name).pk)
    store.decline("keyless", [item(name).pk for name in names], why)


def test_what_workers_decline_is_offered_one_at_a_time_until_one_can_do_it() -> None:
    job("a", "b", "c")
    sent()
    declined("a", "b", "c")
    assert set(JobItem.objects.values_list("state", "attempts", "owner")) == {("waiting", 0, "")}
    assert sent(queue_is_empty=True) == []
    sent_long_ago()
    assert sent(queue_is_empty=True) == ["a"]
    assert sent(queue_is_empty=True) == []  # the others have to wait until that one has been looked at
    sent_long_ago()
    store.claim("able", limit=1, item=item("a").pk)
    assert item("a").detail == ""
    assert sent(queue_is_empty=True) == ["b", "c"]


def test_job_waits_in_vain_where_nobody_works_on_it() -> None:
    planned, now = job("a"), timezone.now()
    assert store.waits_in_vain(planned.job.pk, now) == store.InVain("")
    declined("a")
    assert store.waits_in_vain(planned.job.pk, now) == store.InVain("The environment variable K is not set.")
    assert store.reasons_declined() == {planned.job.pk: "The environment variable K is not set."}
    store.claim("able", limit=1)
    assert store.waits_in_vain(planned.job.pk, now) is None
    assert store.reasons_declined() == {}


def test_job_does_not_wait_in_vain_while_workers_are_busy_with_another_unless_they_declined_it() -> None:
    planned, now = job("a"), timezone.now()
    job("other")
    store.claim("busy", limit=1, item=item("other").pk)
    assert store.waits_in_vain(planned.job.pk, now) is None
    declined("a")
    assert store.waits_in_vain(planned.job.pk, now) is not None


def test_job_of_which_something_was_done_since_does_not_wait_in_vain() -> None:
    planned, now = job("a", "b"), timezone.now()
    [one] = store.claim("able", limit=1)
    store.mark_done([(one.pk, {})])
    assert store.waits_in_vain(planned.job.pk, now) is None
    assert store.waits_in_vain(planned.job.pk, timezone.now()) is not None


def test_what_was_declined_begins_anew_with_the_next_command() -> None:
    job("a")
    declined("a")
    job("a")
    assert item("a").detail == ""


@pytest.mark.django_db(transaction=True)
def test_several_who_send_do_not_send_the_same() -> None:
    job(*(f"item {n}" for n in range(50)))
    lists = at_the_same_time(*[partial(store.pick_to_send, limit=20, queue_is_empty=False)] * 3)
    everything = [pk for numbers in lists for pk in numbers]
    assert len(everything) == len(set(everything))
