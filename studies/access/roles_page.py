"""docs/roles.md, printed from the table."""

from collections.abc import Iterable, Iterator, Sequence

from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import translation

from studies.access.log_lines import (
    COMMAND_LINES,
    NAMESPACE_LINES,
    ROUTE_LINES,
    UNLOGGED_COMMANDS,
    UNLOGGED_ROUTES,
    UNLOGGED_SOCKETS,
    RouteLine,
)
from studies.access.table import (
    ASKING_PAGES,
    ASKING_ROUTES,
    BLIND_ROLES,
    KINDS,
    NAMESPACES,
    RIGHTS,
    ROLES,
    ROUTES,
    SOCKETS,
    Act,
    ByArgument,
    Kind,
    Methods,
    Need,
)
from studies.models.membership import Role

HEAD = """\
# Roles

<!-- Written by `manage.py write_docs` from studies/access/table.py. Change it there. -->

Each colleague has one role or several in each study. A study in which you have no role does not exist for you: it is
in no list, and its pages answer 404. A page of your own study that your role does not include answers 403.

"""

HOW = """\
- **Who has which role** is on the page **Access** of a study. Its admins invite colleagues by mail, by address or
  user name. Someone without an account gets one, and chooses a password with the link in the mail, which serves
  once, for three days. Without `EMAIL_URL`, the page shows the link instead, so that you can send it yourself.
- **Admins of the installation** (superusers, `manage.py createsuperuser`) are admins of every study, and they alone
  open `/admin/`. Like other admins they do not see how safe each arm is: for that they need the role of a safety
  officer.
- **From the shell**: `manage.py grant STUDY USER ROLE` gives a role, `--remove` takes it away. Studies that
  `load_study` loads have no admin of their own at first. Who loads a new study on the page becomes its admin.
- **New studies** can be set up by admins and researchers of any study, and by accounts that have the permission "Can
  add study" (under `/admin/`, Users), because trying models costs money.
- **Leaving**: everyone can leave a study, except its last admin, who hands it over first. What colleagues decided,
  coded and wrote stays with their name.
- **Who rates stays blind.** Counsellors, reviewers and coders see no arm, model, prompt, other rating or judge's
  score. They read conversations on pages of their own, without call times and errors, which could tell. So no one
  holds one of these roles together with one of the others. Admins and researchers can code too, but they are not
  blind.
- **Unblinding** is an act of its own, with a reason that is kept (page Analysis).

"""

AGAIN = """\
“Asks again” needs your password, a code or a passkey given in the last ten
minutes (half an hour for a form that you have opened); signing in counts. Tokens of the API are not asked."""
ROUTES_HEAD = """\
## Which page needs what
A page that is not listed is refused. Where looking at a page and changing something on it need different rights, the
table says both.

The third column says what the [audit log](hosting.md#the-audit-log) writes down when someone opens the page, or does
something there; a dash means nothing, and the list below the table says why.

| page | needs | written down |
| --- | --- | --- |
"""


UNLOGGED_HEAD = """\
## What is not written down, and why
"""

COMMANDS_HEAD = """\
## What commands write down
| command | written down |
| --- | --- |
"""


def build_roles_page() -> str:
    """Return the page in English."""
    with translation.override("en"):
        parts = (HEAD, roles_part(), HOW, acts_part(), ROUTES_HEAD, *routes_part(), sockets_part(), unlogged_part())
        return "".join(parts)


def roles_part() -> str:
    lines = [f"| {role.label} | `{role.value}` | {ROLES[role]} |\n" for role in Role]
    return "".join(("| role | in commands | in short |\n| --- | --- | --- |\n", *lines, "\n"))


def acts_part() -> str:
    blind = ", ".join(str(role.label).lower() for role in Role if role in BLIND_ROLES)
    head = f"## What each role may do\nBlind: {blind}. {AGAIN}\n\n"
    columns = ["may", *(str(role.label) for role in Role), "asks again"]
    rows = [
        [f"{right.meaning} (`{act}`)", *map(yes_or_dash, (*(role in right.roles for role in Role), right.asks_again))]
        for act, right in RIGHTS.items()
    ]
    return head + table(columns, rows) + "\n"


def yes_or_dash(is_so: bool) -> str:
    return "yes" if is_so else "–"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def routes_part() -> Iterator[str]:
    addresses = dict(addresses_in(get_resolver().url_patterns))
    for name, need in ROUTES.items():
        also = ", and asks again" if name in ASKING_ROUTES else ""
        logged = describe_logged(ROUTE_LINES.get(name))
        yield f"| `{addresses[name]}` | {in_words(need)}{also} | {logged} |\n"
    for space, kind in NAMESPACES.items():
        also = ", and asks again on pages of accounts" if any(one.startswith(space) for one in ASKING_PAGES) else ""
        yield f"| all of `/{space}/` | {in_words(kind)}{also} | {describe_logged(NAMESPACE_LINES[space])} |\n"


def describe_logged(line: RouteLine | None) -> str:
    """Return the acts in the audit log as text, such as `saw person, changed person`."""
    acts = [logged for logged in (line.look, line.change) if logged] if line else []
    return ", ".join(f"{logged.act.value} {logged.thing.value}" for logged in acts) or "–"


def unlogged_part() -> str:
    addresses = dict(addresses_in(get_resolver().url_patterns))
    lines = [
        f"- {reason} {', '.join(f'`{addresses[name]}`' for name in names)}\n"
        for reason, names in UNLOGGED_ROUTES.items()
    ]
    commands = [
        f"| `{name}` | {line.logged.act.value} {line.logged.thing.value} |\n" for name, line in COMMAND_LINES.items()
    ]
    quiet = [f"- {reason} {', '.join(f'`{name}`' for name in names)}\n" for reason, names in UNLOGGED_COMMANDS.items()]
    return "".join(("\n", UNLOGGED_HEAD, *lines, "\n", COMMANDS_HEAD, *commands, "\n", *quiet))


def sockets_part() -> str:
    lines = [f"| {name} | {in_words(need)} | – {UNLOGGED_SOCKETS[name]} |\n" for name, need in SOCKETS.items()]
    return "".join(("\n| websocket | needs | written down |\n| --- | --- | --- |\n", *lines))


def addresses_in(
    patterns: Sequence[URLPattern | URLResolver], before: str = "/", space: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the name and the address of each route."""
    for pattern in patterns:
        address = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from addresses_in(
                pattern.url_patterns, address, f"{pattern.namespace}:" if pattern.namespace else space
            )
        else:
            yield f"{space}{pattern.name}", address


def in_words(need: Need) -> str:
    if isinstance(need, Methods):
        return f"looking: {in_words(need.look)}, changing: {in_words(need.change)}"
    if isinstance(need, ByArgument):
        return ", ".join(f"{argument}: `{act}`" for argument, act in need.acts.items())
    if isinstance(need, Kind):
        return str(KINDS[need]).lower()
    return f"`{need}`" if isinstance(need, Act) else " or ".join(f"`{act}`" for act in need)
