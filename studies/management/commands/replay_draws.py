from typing import Any

from django.core.management.base import CommandParser

from studies.allocation.replay import ReplayedDraw, replay_draws
from studies.management.command import Command as Base


class Command(Base):
    help = (
        "Replays each stored draw of a study with what it was told then (seed, counts, strata), and says whether the "
        "rule chooses the same arms again. It changes nothing. Exit code 1: some draws differ."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")

    def work(self, study: str, **_options: Any) -> dict[str, Any]:
        draws = list(replay_draws(self.study(study)))
        wrong = [replayed for replayed in draws if replayed.differences]
        for replayed in wrong:
            self.say_differences(replayed)
        unknown = self.count_unknown(draws)
        for factor, people in sorted(unknown.items()):
            self.say(f"{factor}: unknown at {people} of {len(draws)} draws, which did without it")
        self.say(f"{study}: {len(draws) - len(wrong)} of {len(draws)} draws give the same arms again.")
        return {"study": study, "draws": len(draws), "failed": len(wrong), "unknown": unknown}

    def say_differences(self, replayed: ReplayedDraw) -> None:
        for difference in replayed.differences:
            self.say(f"{replayed.draw.participation.code}: {difference}")

    def count_unknown(self, draws: list[ReplayedDraw]) -> dict[str, int]:
        unknown: dict[str, int] = {}
        for replayed in draws:
            for factor, own in replayed.draw.strata.items():
                unknown[factor] = unknown.get(factor, 0) + (own["level"] is None)
        return {factor: people for factor, people in unknown.items() if people}
