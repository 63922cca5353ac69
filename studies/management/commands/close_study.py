from studies.management.stage_command import StageCommand
from studies.models import Stage


class Command(StageCommand):
    help = (
        "Closes a study: no one new starts, and people who have started can finish. Then the results by arm are shown. "
        "open_study opens it again."
    )
    to = Stage.CLOSED
    outcome = "is closed: no one new can start"
