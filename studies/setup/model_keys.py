"""The models and webhooks of a study that lack their key because the variable that holds it is not set."""

from collections.abc import Iterator
from typing import NamedTuple

from dialogue.providers.registry import has_key, is_free
from studies.design.spec import ArmSpec, StudySpec


class UnsetKey(NamedTuple):
    """A key that is not set.

    `role`: arm, judge, seeker, evaluator or second line; `key`: of the model, empty where there is one in the role.
    """

    role: str
    key: str
    variable: str

    @property
    def model(self) -> str:
        return f"{self.role} {self.key}".strip()


def unset_keys(spec: StudySpec) -> Iterator[UnsetKey]:
    """Yield each model behind a server whose variable is not set for this process."""
    for role, key, model in models_of(spec):
        if not is_free(model.kind) and not has_key(model.api_key_env):
            yield UnsetKey(role, key, model.api_key_env)
    line = spec.safety.second_line
    if line and line.kind != "scripted" and not has_key(line.api_key_env):
        yield UnsetKey("second line", "", line.api_key_env)


def unset_secrets(spec: StudySpec) -> list[str]:
    """Return the variables with keys of webhooks that are not set for this process."""
    variables = {contact.secret_env for contact in spec.safety.oncall if contact.secret_env}
    return sorted(variable for variable in variables if not has_key(variable))


def models_of(spec: StudySpec) -> Iterator[tuple[str, str, ArmSpec]]:
    yield from (("arm", arm.key, arm) for arm in spec.arms)
    yield from (("judge", judge.key, judge) for judge in spec.judges)
    if spec.seeker:
        yield "seeker", "", spec.seeker
    if spec.evaluator:
        yield "evaluator", "", spec.evaluator
