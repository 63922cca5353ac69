"""An interview of a bot, held by no one: it is begun, has a note on each question, and is closed."""

from studies.interviews import schedule
from studies.models import InterviewNote, Participation
from studies.participation.progress import current_step

NOTE = "A bot was asked this question by a stand-in: no one was interviewed."


def hold_interview(bot: Participation) -> bool:
    """Hold the interview that a bot waits for; return False if it waits for none."""
    if current_step(bot).kind != schedule.INTERVIEW or schedule.is_written(bot) or schedule.is_over(bot):
        return False
    interview = schedule.start(bot)
    InterviewNote.objects.bulk_create(
        InterviewNote(interview=interview, question=question.key, text=NOTE)
        for section in schedule.sections_of(bot)
        for question in section.questions
    )
    schedule.close(interview)
    return True
