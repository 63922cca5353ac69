"""A person who walks a study by its forms, for tests. Conversations are had by the rules, without sockets."""

import uuid

from django.test import Client

from dialogue.chat import lifecycle, messages, outcomes
from dialogue.providers.base import Reply
from studies.models import Participation, Study
from studies.participation import enrolment, progress
from tests.answers import AFTER, BOXES, ELIGIBLE, MOOD, middle, right_answers


class Person:
    looks = False  # at each page before answering it

    def __init__(self, study: str = "demo", track: str = "participant", language: str = "en") -> None:
        self.row, token = enrolment.invite(Study.objects.get(key=study), track=track)
        self.language = language
        self.client = Client()
        self.link = f"/j/{token}/"
        self.client.post(self.link)
        self.page()

    def page(self):
        return self.client.get("/study/", follow=True)

    @property
    def step(self):
        self.row.refresh_from_db()
        return progress.current_step(self.row)

    def send(self, data, step=None):
        return self.client.post("/study/", {"step": (step or self.step).key, **data})

    def be_refused(self, data, at="/study/"):
        """Send what is to be mended; the page that says so."""
        step = {"step": self.step.key} if at.startswith("/study/") else {}
        sent = self.client.post(at, {**step, **data})
        assert (sent.status_code, sent["Location"]) == (303, f"{at}#error-summary")
        return self.client.get(at)

    def answers(self) -> dict[str, str]:
        step = self.step
        match step.kind:
            case "language":
                return {"language": self.language}
            case "screening":
                return ELIGIBLE
            case "consent":
                return dict.fromkeys(BOXES, "on")
            case "training":
                return right_answers()
            case "blinding":
                return {f"run{run.position}-guess": "cannot_tell" for run in self.row.runs.all()}
        if step.instrument == "emotion_checkin":
            return MOOD if step.phase == "pre" else AFTER
        return middle(step.instrument) if step.instrument else {}

    def go_to(self, kind: str, run: int = 0) -> None:
        """Walk on until a step of this kind (of this run) is next."""
        for _ in range(200):
            step = self.step
            if step.kind == kind and run in (0, step.run):
                return
            if self.looks:
                self.page()
            if step.kind == "chat":
                self.converse()
            else:
                assert self.send(self.answers()).status_code == 302, f"{step.key} was not accepted"
        raise AssertionError(f"no step {kind} {run}")

    def conversation(self):
        return self.row.runs.get(position=self.step.run).conversation

    def say(self, text="My sister has not called since May"):
        taken = messages.take_seeker_turn(self.conversation().pk, client_id=uuid.uuid4().hex, text=text, owner="test")
        if taken.assignment:
            reply = Reply(text="What happened in May?", model="m", total_ms=5)
            outcomes.record_reply(taken.assignment, reply, seq=taken.assignment.seq)
        return taken

    def converse(self) -> None:
        self.page()
        room = self.conversation()
        while room.answered_turns() < room.min_turns:
            self.say()
            room.refresh_from_db()
            if room.status == "paused":
                self.send({**middle("turn_checkpoint"), "checkpoint": str(room.answered_turns())})
                room.refresh_from_db()
        lifecycle.end(room.pk, early=False)
        self.page()


def everyone() -> list[Participation]:
    return list(Participation.objects.order_by("pk"))
