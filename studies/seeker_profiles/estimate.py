"""Estimate calls and cost of building profiles, from the real prompts and the length of earlier answers."""

from collections.abc import Sequence

from dialogue.jobs.estimate import Estimate, Load, Typical, Typicals, sum_loads
from dialogue.models import Call
from dialogue.prices import estimate_tokens
from dialogue.seekers.profile_writer import writer_messages
from studies.design.spec import ArmSpec
from studies.models import Participation, Study
from studies.seeker_profiles.planning import get_prompts, writer_settings
from studies.seeker_profiles.source import profile_source

PURPOSE = Call.Purpose.PROFILE
ASSUMED = Typical(characters=0, tokens=700)  # of an answer, where none is in the ledger


def estimate_profiles(study: Study, writer: ArmSpec, people: Sequence[Participation]) -> Estimate:
    settings, own = writer_settings(writer), get_prompts(study)
    length = Typicals.read().in_ledger.get((PURPOSE, settings.kind, settings.model, None), ASSUMED)
    prompts = [estimate_tokens(writer_messages(profile_source(person).answered, own)) for person in people]
    loads = [Load(PURPOSE, settings, 1, tokens, length.tokens) for tokens in prompts]
    return Estimate(profiles=len(people), loads=sum_loads(loads), lengths={(PURPOSE, settings.model, ""): length})
