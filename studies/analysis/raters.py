"""Groups of raters: their kind, or `judge:STRATEGY`; of judges that are not the seeker `judge:STRATEGY:ROLE`."""

from typing import NamedTuple

from dialogue.judges.roles import SEEKER

JUDGE = "judge"


class Group(NamedTuple):
    """A group's parts. `role` is empty of people, and of judges that rate as the seeker or whose role no one tells."""

    kind: str
    strategy: str
    role: str

    @property
    def is_of_judges(self) -> bool:
        return self.kind == JUDGE


def read_group(raters: str) -> Group:
    kind, _colon, rest = raters.partition(":")
    strategy, _colon, role = rest.partition(":")
    return Group(kind, strategy, role)


def name_group(kind: str, strategy: str, role: str) -> str:
    """Return the group of a rater, so that no two roles of judges share one."""
    if kind != JUDGE:
        return kind
    if role and role != SEEKER.code:
        return f"{kind}:{strategy}:{role}"
    return f"{kind}:{strategy}" if strategy else kind
