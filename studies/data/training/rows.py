"""The lines of the files, as TRL's conversational formats want them, with where each comes from beside it. Pure.

Every line of a file has the same columns with values of the same type, and none is null: `datasets` infers the types
from the first lines. No column has a name to which TRL gives a meaning of its own (`completion`, `label`, `margin`, …).
"""

from typing import Any

from studies.data.training.preferences import Preference
from studies.data.training.talk import About, Message, Talk, messages

Row = dict[str, Any]


def sft_row(talk: Talk, *, study: str, split: str, score: float | None) -> Row:
    """Return the row of a conversation for supervised fine-tuning.

    `score`: None where none was asked for; the column is then in no line of the file.
    """
    about = talk.about
    return {
        "messages": messages(talk.turns),
        "conversation": about.conversation,
        "arm": about.arm,
        "model": about.model,
        **_describe(about, study=study, split=split),
        "turns": len(talk.turns),
        **({} if score is None else {"score": score}),
    }


def preference_row(
    preference: Preference, prompt: list[Message], chosen: About, rejected: About, *, study: str, split: str, of: str
) -> Row:
    """Return the row of a chosen and a rejected reply to one prompt.

    `of`: what was scored, the reply itself or the whole conversation.
    """
    return {
        "prompt": prompt,
        "chosen": [Message(role="assistant", content=preference.chosen.reply)],
        "rejected": [Message(role="assistant", content=preference.rejected.reply)],
        "chosen_conversation": chosen.conversation,
        "rejected_conversation": rejected.conversation,
        "chosen_arm": chosen.arm,
        "rejected_arm": rejected.arm,
        "chosen_model": chosen.model,
        "rejected_model": rejected.model,
        **_describe(chosen, study=study, split=split),
        "turn": preference.chosen.turn,
        "score_of": of,
        "score_chosen": preference.score_chosen,
        "score_rejected": preference.score_rejected,
    }


def _describe(about: About, *, study: str, split: str) -> Row:
    return {
        "study": study,
        "split": split,
        "seeker": about.seeker,
        "seeker_kind": about.seeker_kind,
        "condition": about.condition,
        "profile": about.profile,
        "setup": about.setup,
        "language": about.language,
        "is_test": about.is_test,
    }
