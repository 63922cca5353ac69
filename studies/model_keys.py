"""Which models of a study cannot be asked because the variable that holds their key is not set."""

from collections.abc import Iterator
from typing import NamedTuple

from dialogue.providers.registry import has_key, is_free
from studies.design.spec import ArmSpec, StudySpec


class UnsetKey(NamedTuple):
    """`model`: what it is in the study and its key, as `arm birch`."""

    model: str
    variable: str


def unset_keys(spec: StudySpec) -> Iterator[UnsetKey]:
    """Yield each model behind a server whose variable is not set for this process."""
    for name, model in models_of(spec):
        if not is_free(model.kind) and not has_key(model.api_key_env):
            yield UnsetKey(name, model.api_key_env)


def models_of(spec: StudySpec) -> Iterator[tuple[str, ArmSpec]]:
    yield from ((f"arm {arm.key}", arm) for arm in spec.arms)
    yield from ((f"judge {judge.key}", judge) for judge in spec.judges)
    if spec.seeker:
        yield "seeker", spec.seeker
