from studies.management.stage_command import StageCommand
from studies.models import Stage


class Command(StageCommand):
    help = (
        "Pauses a study: no one new starts, and people under way go on when it is open again. A conversation that has "
        "begun can be finished. open_study ends the pause."
    )
    to = Stage.PAUSED
    outcome = "is paused"
