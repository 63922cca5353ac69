"""Whole conversations of scripted seekers with scripted supporters, for tests."""

from dataclasses import dataclass
from pathlib import Path

from dialogue.demonstration.seekers import ScriptedSeeker
from dialogue.judges.prompts import JudgedTurn
from dialogue.providers.base import Message
from dialogue.providers.scripted import DemonstrationSupporter
from dialogue.seekers.behaviours import VOLATILITY, Condition, instruction, mood
from dialogue.seekers.profiles import Profile, load_profiles, write_for_seeker
from dialogue.seekers.prompts import one_agent_messages, talker_messages, thinker_messages
from dialogue.seekers.reading import Thought, Utterance, read_thought, read_utterance

DEMO = Path(__file__).resolve().parents[3] / "fixtures" / "instruments" / "seeker_profiles_demo.json"
PROFILES = load_profiles(DEMO)
MAX_TURNS = 15
FIRST_END = 3  # the phrases are told from this turn on


@dataclass(frozen=True)
class Talk:
    turns: list[JudgedTurn]
    utterances: list[Utterance]
    thoughts: list[Thought]
    ends: str


async def talk(arm: str, profile: Profile, condition: Condition, *, one_agent: bool = False) -> Talk:
    language, told = profile.language, write_for_seeker(profile, detail="full")
    thinker, talker = ScriptedSeeker("seeker_thinker", language), ScriptedSeeker("seeker_talker", language)
    supporter = DemonstrationSupporter(arm, language, pace=0)
    done = Talk([], [], [], "cap")
    heard: list[Message] = []
    for number in range(1, MAX_TURNS + 1):
        state = mood(f"{profile.id}/{arm}", number, condition.intensities[VOLATILITY])
        behaviour = instruction(condition, language, state)
        if done.turns and not one_agent:
            reply = await thinker.reply(thinker_messages(told, behaviour, done.turns, done.thoughts, language))
            thought = read_thought(reply.text)
            assert isinstance(thought, Thought)
            done.thoughts.append(thought)
        newest = done.thoughts[-1] if done.thoughts else None
        can_end = number >= FIRST_END
        if one_agent:
            asked = one_agent_messages(told, behaviour, done.turns, language, can_end)
        else:
            asked = talker_messages(told, behaviour, done.turns, newest, language, can_end)
        said = read_utterance((await talker.reply(asked)).text, language)
        done.utterances.append(said)
        if said.end:
            done.turns.append(JudgedTurn(number, said.text, ""))
            return Talk(done.turns, done.utterances, done.thoughts, said.end)
        heard.append(Message("user", said.text))
        heard.append(Message("assistant", supporter.text_for(heard)))
        done.turns.append(JudgedTurn(number, said.text, heard[-1].text))
    return done
