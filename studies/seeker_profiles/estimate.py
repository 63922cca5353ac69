"""Estimate calls and cost of building profiles, from the real prompts and the length of earlier answers."""

from collections.abc import Sequence

from dialogue.jobs.estimate import Estimate, Load, Typical, Typicals, sum_loads
from dialogue.jobs.store import WantedItem
from dialogue.models import Call
from dialogue.providers.prices import estimate_tokens
from dialogue.seekers.profile_draw import DrawnPart
from dialogue.seekers.profile_expansion import expander_messages, validator_messages
from dialogue.seekers.profile_writer import writer_messages
from studies.design.spec import ArmSpec
from studies.models import Participation, Study
from studies.seeker_profiles.expansion import Expansion
from studies.seeker_profiles.planning import get_prompts, writer_settings
from studies.seeker_profiles.source import profile_source

PURPOSE = Call.Purpose.PROFILE
ASSUMED = Typical(characters=0, tokens=700)  # of an answer, where none is in the ledger
ASSUMED_OF = {PURPOSE: ASSUMED, Call.Purpose.PROFILE_CHECK: Typical(characters=0, tokens=40)}


def estimate_profiles(study: Study, writer: ArmSpec, people: Sequence[Participation]) -> Estimate:
    settings, own = writer_settings(writer), get_prompts(study)
    length = Typicals.read().in_ledger.get((PURPOSE, settings.kind, settings.model, None), ASSUMED)
    prompts = [estimate_tokens(writer_messages(profile_source(person).answered, own)) for person in people]
    loads = [Load(PURPOSE, settings, 1, tokens, length.tokens) for tokens in prompts]
    return Estimate(profiles=len(people), loads=sum_loads(loads), lengths={(PURPOSE, settings.model, ""): length})


def estimate_expansion(expansion: Expansion, items: Sequence[WantedItem]) -> Estimate:
    """Estimate writing and checking. Each profile is checked, as if it were as long as its seed."""
    own, typicals = get_prompts(expansion.study), Typicals.read().in_ledger
    settings = dict(zip((PURPOSE, Call.Purpose.PROFILE_CHECK), expansion.models.settings().values(), strict=True))
    lengths = {
        purpose: typicals.get((purpose, model.kind, model.model, None), ASSUMED_OF[purpose])
        for purpose, model in settings.items()
    }
    loads = []
    for one in items:
        seed, drawn = expansion.seed_of(one), DrawnPart(**one.payload["drawn"])
        questions = {
            PURPOSE: expander_messages(seed, drawn, own),
            Call.Purpose.PROFILE_CHECK: validator_messages(seed, own),
        }
        loads += [
            Load(purpose, settings[purpose], 1, estimate_tokens(messages), lengths[purpose].tokens)
            for purpose, messages in questions.items()
        ]
    by_model = {(purpose, settings[purpose].model, ""): length for purpose, length in lengths.items()}
    return Estimate(profiles=len(items), loads=sum_loads(loads), lengths=by_model)
