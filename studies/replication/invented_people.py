"""Invented people, for walks on scripts: conversations and ratings in the files that `import_conversations` and
`import_ratings` take.

They say what bots say and rate as bots do (`studies/bots`), so the same planted quality is behind their scores and
those of scripted judges. Each code begins with `invented`.
"""

import csv
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dialogue.demonstration.judges import HUMAN_NOISE, planted_score
from dialogue.providers.base import Message
from dialogue.providers.scripted import DemonstrationSupporter
from studies.bots.answers import LENIENCY
from studies.bots.stories import STORIES, lines_for
from studies.design.spec import ArmSpec, StudySpec
from studies.instruments.loading import load
from studies.participation.responses import is_rating

SEED = "invented"
TURNS = 10  # the least that both papers' people talked (EmoHarbor, Section 3.1)
COUNSELLORS, RATINGS_OF_AN_ARM = 8, 3  # When Seekers Are Hard to Help, Table 3 (docs/papers.md)
RATINGS = ("conversation", "rater", "rater_kind", "instrument", "item", "score", "moment")


@dataclass(frozen=True)
class Talk:
    """A conversation of an invented person. `leniency`: points by which this rater is above others."""

    id: str
    person: str
    kind: str
    arm: str
    language: str
    profile: str
    turns: tuple[tuple[str, str], ...]
    leniency: float = 0.0

    def line(self) -> str:
        turns = [{"seeker": seeker, "supporter": supporter} for seeker, supporter in self.turns]
        about = {"id": self.id, "participant": self.person, "profile": self.profile}
        return json.dumps({**about, "arm": self.arm, "language": self.language, "turns": turns}, ensure_ascii=False)

    def ratings(self, instruments: Sequence[str]) -> Iterator[tuple[str, ...]]:
        for instrument in filter(lambda name: is_rating(load(name)), instruments):
            for item in load(instrument).items:
                if item.type == "scale":
                    score = planted_score(
                        self.turns, item=item.key, rater=self.person, noise=HUMAN_NOISE, leniency=self.leniency
                    )
                    yield self.id, self.person, self.kind, instrument, item.key, str(score), "final"


def invent_participants(spec: StudySpec, *, each: int) -> Iterator[Talk]:
    """Yield the talks of so many people of each language, each with every arm."""
    for language in spec.languages:
        for number in range(1, each + 1):
            person = f"invented-{language}-{number:02}"
            for arm in spec.arms:
                yield talk_of(person, "seeker", arm, language)


def invent_counsellors(spec: StudySpec) -> Iterator[Talk]:
    """Yield the talks of eight counsellors, in turn, so that each arm has three ratings by three of them."""
    for place in range(len(spec.arms) * RATINGS_OF_AN_ARM):
        person = f"invented-counsellor-{place % COUNSELLORS + 1}"
        leniency = random.Random(f"{SEED} leniency {person}").gauss(0, LENIENCY)
        language = spec.languages[place % len(spec.languages)]
        yield talk_of(person, "expert", spec.arms[place // RATINGS_OF_AN_ARM], language, leniency)


def talk_of(person: str, kind: str, arm: ArmSpec, language: str, leniency: float = 0.0) -> Talk:
    draw = random.Random(f"{SEED} {person}")
    story = draw.choice(STORIES[language])
    model, messages, turns = DemonstrationSupporter(arm.model, language, pace=0), [], []
    for seeker in islice(lines_for(story, language, f"{SEED} {person} {arm.key}"), TURNS):
        messages.append(Message("user", seeker))
        turns.append((seeker, model.text_for(messages)))
        messages.append(Message("assistant", turns[-1][1]))
    code = f"{person}-{arm.key}"
    return Talk(code, person, kind, arm.key, language, f"{story.topic}; {story.interests}", tuple(turns), leniency)


def write_people(folder: Path, talks: Sequence[Talk], instruments: Sequence[str]) -> None:
    folder.mkdir()
    lines = "".join(f"{talk.line()}\n" for talk in talks)
    (folder / "conversations.jsonl").write_text(lines, encoding="utf-8")
    with (folder / "ratings.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(RATINGS)
        for talk in talks:
            writer.writerows(talk.ratings(instruments))
