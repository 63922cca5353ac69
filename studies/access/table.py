"""The rights of accounts: the acts of each role, and the act that each route needs.

This is the only place that says so. `studies.access.gate` enforces it for pages, `studies.access.api` for the API,
`studies.access.sockets` for websockets; docs/roles.md is printed from it. A route without a line is refused.

To add a route, write one line into ROUTES: the route's name and what it needs.

    "research-people": Act.VIEW_PEOPLE,                             # one act, whatever the method
    "research-card-edit": Methods(Act.READ_CARDS, Act.EDIT_DESIGN), # to look, and to change (POST, PUT, PATCH, DELETE)
    "research-interviews": (Act.READ_INTERVIEWS, Act.CODE),         # either of these acts
    "help": Kind.ANYONE,                                            # no role
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from studies.models.membership import Role

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class Act(StrEnum):
    """An act that a role in a study allows."""

    VIEW_COLLEAGUES = "view_colleagues"
    VIEW_STUDY = "view_study"
    VIEW_PEOPLE = "view_people"
    MANAGE_PEOPLE = "manage_people"
    READ_CONVERSATIONS = "read_conversations"
    READ_CARDS = "read_cards"
    READ_INTERVIEWS = "read_interviews"
    INTERVIEW = "interview"
    CODE = "code"
    PLAN_RATINGS = "plan_ratings"
    SEE_ARMS = "see_arms"
    SEE_RESULTS = "see_results"
    UNBLIND = "unblind"
    SEE_SAFETY = "see_safety"
    DECIDE_SAFETY = "decide_safety"
    SEE_ALL_SAFETY = "see_all_safety"
    EXPORT = "export"
    EXPORT_CONTACTS = "export_contacts"
    ERASE = "erase"
    RUN_PAID_WORK = "run_paid_work"
    EDIT_DESIGN = "edit_design"
    OPEN_CLOSE = "open_close"
    MANAGE_ACCESS = "manage_access"
    SEE_LOG = "see_log"


class Kind(StrEnum):
    """The need of a route that belongs to no study, or to no account."""

    ANYONE = "anyone"
    PERSON = "person"
    TOKEN = "token"  # noqa: S105 - a kind of visitor
    ACCOUNT = "account"
    FOUNDER = "founder"
    INSTALLATION = "installation"


class Right(NamedTuple):
    """An act in words, and the roles that may do it."""

    meaning: str | Promise
    roles: frozenset[Role]
    asks_again: bool = False


def right(meaning: str | Promise, *roles: Role, asks_again: bool = False) -> Right:
    """Return an act. `asks_again`: it also needs the password, a code or a passkey given lately."""
    return Right(meaning, frozenset(roles), asks_again)


_TEAM = (Role.ADMIN, Role.RESEARCHER)
_READERS = (*_TEAM, Role.SAFETY_OFFICER, Role.READER)

ROLES: Mapping[Role, str | Promise] = {
    Role.ADMIN: _("does everything, decides who has access, erases and unblinds"),
    Role.RESEARCHER: _("runs the study: people, design, models, results, exports"),
    Role.SAFETY_OFFICER: _("decides at the safety desk, and alone sees how safe each arm is"),
    Role.COUNSELLOR: _("reads the role cards; stays blind"),
    Role.REVIEWER: _("reads conversations; stays blind"),
    Role.CODER: _("reads conversations, codes interviews, decides what is left out; stays blind"),
    Role.READER: _("sees what researchers see, except the safety desk and exports, and changes nothing"),
}

# Rating and coding are worth nothing if the person knows the arm, so these roles never see arms, models or scores.
BLIND_ROLES = frozenset({Role.COUNSELLOR, Role.REVIEWER, Role.CODER})

RIGHTS: Mapping[Act, Right] = {
    Act.VIEW_COLLEAGUES: right(_("See who works on the study, and leave it"), *Role),
    Act.VIEW_STUDY: right(_("See the progress of the study and its plans"), *_READERS),
    Act.VIEW_PEOPLE: right(_("See the people and applicants"), *_READERS),
    Act.MANAGE_PEOPLE: right(
        _("Invite people, admit or decline applicants, let people come back, end their part, and pay them"), *_TEAM
    ),
    Act.READ_CONVERSATIONS: right(_("Read conversations"), *_READERS, Role.REVIEWER, Role.CODER),
    Act.READ_CARDS: right(_("Read the role cards"), *_READERS, Role.COUNSELLOR),
    Act.READ_INTERVIEWS: right(_("Read interviews"), *_TEAM, Role.READER),
    Act.INTERVIEW: right(_("Hold interviews"), *_TEAM),
    Act.CODE: right(_("Code interviews, and decide what is left out of results"), *_TEAM, Role.CODER),
    Act.PLAN_RATINGS: right(_("Plan reviews and comparisons, and settle disagreements"), *_TEAM),
    Act.SEE_ARMS: right(_("See arms, models, prompts and judges' scores"), *_READERS),
    Act.SEE_RESULTS: right(_("See results, by arm once the study is unblinded"), *_TEAM, Role.READER),
    Act.UNBLIND: right(_("Unblind the results by arm, with a reason"), Role.ADMIN, asks_again=True),
    Act.SEE_SAFETY: right(_("See the safety desk"), *_TEAM, Role.SAFETY_OFFICER),
    Act.DECIDE_SAFETY: right(
        _("Acknowledge alarms, write to people, and decide at the safety desk"), *_TEAM, Role.SAFETY_OFFICER
    ),
    Act.SEE_ALL_SAFETY: right(
        _("See how safe each arm is, and what applicants answered about their safety"), Role.SAFETY_OFFICER
    ),
    Act.EXPORT: right(_("Export data"), *_TEAM, asks_again=True),
    Act.EXPORT_CONTACTS: right(_("Export contact data for payment (Prolific IDs)"), Role.ADMIN, asks_again=True),
    Act.ERASE: right(_("Erase people and test data, and anonymise the study"), Role.ADMIN, asks_again=True),
    Act.RUN_PAID_WORK: right(_("Start work that costs money"), *_TEAM),
    Act.EDIT_DESIGN: right(_("Change the design, role cards and profiles"), *_TEAM),
    Act.OPEN_CLOSE: right(_("Open and close the study, after which results by arm are shown"), *_TEAM),
    Act.SEE_LOG: right(_("See the audit log"), *_TEAM, Role.READER),
    Act.MANAGE_ACCESS: right(_("Invite colleagues, change or remove their roles, and set up webhooks"), Role.ADMIN),
}

KINDS: Mapping[Kind, str | Promise] = {
    Kind.ANYONE: _("Anyone"),
    Kind.PERSON: _("People of a study, by their own link"),
    Kind.TOKEN: _("Holders of a token that was sent to them"),
    Kind.ACCOUNT: _("Everyone who has signed in"),
    Kind.FOUNDER: _("Admins and researchers of any study, and accounts with the permission to add studies"),
    Kind.INSTALLATION: _("Admins of the installation"),
}


class Methods(NamedTuple):
    """A route on which some may look and others may change."""

    look: Act | Kind
    change: Act | Kind


class ByArgument(NamedTuple):
    """A route whose act depends on an argument of its address."""

    argument: str
    acts: Mapping[str, Act]


Need = Act | Kind | tuple[Act, ...] | Methods | ByArgument

ROUTES: Mapping[str, Need] = {
    # People of a study
    "front": Kind.ANYONE,
    "join": Kind.PERSON,
    "open": Kind.ANYONE,
    "study": Kind.PERSON,
    "study-language": Kind.PERSON,
    "study-draft": Kind.PERSON,
    "study-role": Kind.PERSON,
    "study-flag": Kind.PERSON,
    "study-step-out": Kind.PERSON,
    "study-care": Kind.PERSON,
    "study-unsafe": Kind.PERSON,
    "study-safe": Kind.PERSON,
    "study-check": Kind.PERSON,
    "study-where": Kind.PERSON,
    "study-whose": Kind.PERSON,
    "study-letter-read": Kind.PERSON,
    "study-played": Kind.PERSON,
    "study-rate-reply": Kind.PERSON,
    "study-ask": Kind.PERSON,
    "my-data": Kind.PERSON,
    "my-data-read": Kind.PERSON,
    "my-data-file": Kind.PERSON,
    "my-data-receipt": Kind.PERSON,
    "help": Kind.ANYONE,
    "offline-page": Kind.ANYONE,
    "offline-worker": Kind.ANYONE,
    "pause": Kind.PERSON,
    "leave": Kind.PERSON,
    # Machines, and people on call
    "oncall-alarm": Kind.TOKEN,
    "healthz": Kind.ANYONE,
    "readyz": Kind.ANYONE,
    "metrics": Kind.TOKEN,
    # Signing in
    "research-sign-in": Kind.ANYONE,
    "account_login": Kind.ANYONE,
    "admin:login": Kind.ANYONE,
    "admin:logout": Kind.ANYONE,
    "research-sign-out": Kind.ANYONE,
    "research-language": Kind.ANYONE,
    "mfa_authenticate": Kind.ANYONE,
    # One's own account
    "mfa_index": Kind.ACCOUNT,
    "account_change_password": Kind.ACCOUNT,
    "research-account-sign-out-elsewhere": Kind.ACCOUNT,
    "account_reauthenticate": Kind.ACCOUNT,
    "mfa_reauthenticate": Kind.ACCOUNT,
    "mfa_reauthenticate_webauthn": Kind.ACCOUNT,
    "mfa_activate_totp": Kind.ACCOUNT,
    "mfa_deactivate_totp": Kind.ACCOUNT,
    "mfa_add_webauthn": Kind.ACCOUNT,
    "mfa_remove_webauthn": Kind.ACCOUNT,
    "mfa_view_recovery_codes": Kind.ACCOUNT,
    "mfa_generate_recovery_codes": Kind.ACCOUNT,
    # All studies
    "research-studies": Kind.ACCOUNT,
    "research-sample-size": Kind.ACCOUNT,
    "research-new-study": Kind.FOUNDER,
    "research-questionnaires": Kind.FOUNDER,
    "research-questionnaire-new": Kind.FOUNDER,
    "research-questionnaire-upload": Kind.FOUNDER,
    "research-questionnaire": Kind.FOUNDER,
    "research-questionnaire-edit": Kind.FOUNDER,
    "research-questionnaire-remove": Kind.FOUNDER,
    "research-questionnaire-file": Kind.FOUNDER,
    "research-tokens": Kind.ACCOUNT,
    "research-token-revoke": Kind.ACCOUNT,
    # Drafts: those of the draft's study; as long as it has none, its owner, if they may set up studies
    "research-draft": Act.EDIT_DESIGN,
    "research-draft-load": Act.EDIT_DESIGN,
    "research-draft-undo": Act.EDIT_DESIGN,
    "research-draft-remove": Act.EDIT_DESIGN,
    "research-draft-file": Act.EDIT_DESIGN,
    "research-draft-text": Act.EDIT_DESIGN,
    "research-draft-beside": Act.EDIT_DESIGN,
    "research-draft-try": Act.EDIT_DESIGN,
    "research-draft-preview": Act.EDIT_DESIGN,
    "research-draft-preview-step": Act.EDIT_DESIGN,
    "research-draft-section": Act.EDIT_DESIGN,
    "research-draft-rows": Act.EDIT_DESIGN,
    "research-draft-row": Act.EDIT_DESIGN,
    # Its life
    "research-life": Act.VIEW_STUDY,
    "research-rehearse": Act.OPEN_CLOSE,
    "research-open": Act.OPEN_CLOSE,
    "research-pause": Act.OPEN_CLOSE,
    "research-close": Act.OPEN_CLOSE,
    "research-archive": Act.OPEN_CLOSE,
    "research-anonymise": Act.ERASE,
    "research-erase-study": Act.ERASE,
    "research-resources": Act.OPEN_CLOSE,
    "research-version": Act.SEE_ARMS,
    "research-version-file": Act.SEE_ARMS,
    # Colleagues
    "research-access": Act.VIEW_COLLEAGUES,
    "research-access-leave": Act.VIEW_COLLEAGUES,
    "research-access-invite": Act.MANAGE_ACCESS,
    "research-access-roles": Act.MANAGE_ACCESS,
    "research-access-remove": Act.MANAGE_ACCESS,
    "research-access-password": Act.MANAGE_ACCESS,
    "research-access-restore": Act.MANAGE_ACCESS,
    "research-access-mail": Act.MANAGE_ACCESS,
    "research-access-transfer": Act.MANAGE_ACCESS,
    "research-welcome": Kind.TOKEN,
    # Webhooks tell other servers what happens in the study
    "research-webhooks": Act.MANAGE_ACCESS,
    "research-webhook-stop": Act.MANAGE_ACCESS,
    "research-webhook-ping": Act.MANAGE_ACCESS,
    # Who did what
    "research-audit": Act.SEE_LOG,
    "research-audit-file": Act.SEE_LOG,
    # Payments
    "research-payments": Act.MANAGE_PEOPLE,
    "research-pay": Act.MANAGE_PEOPLE,
    "research-correct-payment": Act.MANAGE_PEOPLE,
    "research-payees": Act.MANAGE_PEOPLE,
    "research-undo-payment": Act.MANAGE_PEOPLE,
    "research-undo-booking": Act.MANAGE_PEOPLE,
    "research-payments-file": ByArgument(
        "name", {"prolific": Act.EXPORT_CONTACTS, "bank": Act.MANAGE_PEOPLE, "ledger": Act.MANAGE_PEOPLE}
    ),
    # A study at a glance
    "research-study": Act.VIEW_STUDY,
    "research-tasks": Act.VIEW_STUDY,
    "research-test-data": Act.ERASE,
    "research-pause-arm": Act.OPEN_CLOSE,
    "research-resume-arm": Act.OPEN_CLOSE,
    "research-invite": Act.MANAGE_PEOPLE,
    "research-links": Act.MANAGE_PEOPLE,
    "research-confirm": Act.RUN_PAID_WORK,
    # People
    "research-people": Act.VIEW_PEOPLE,
    "research-person": Act.VIEW_PEOPLE,
    "research-admit": Act.MANAGE_PEOPLE,
    "research-decline": Act.MANAGE_PEOPLE,
    "research-let-back": Act.MANAGE_PEOPLE,
    "research-reissue-link": Act.MANAGE_PEOPLE,
    "research-pause-person": Act.MANAGE_PEOPLE,
    "research-resume-person": Act.MANAGE_PEOPLE,
    "research-end-person": Act.MANAGE_PEOPLE,
    "research-question": Methods(Act.VIEW_PEOPLE, Act.MANAGE_PEOPLE),
    "research-erase": Act.ERASE,
    "research-applicants": Act.VIEW_PEOPLE,
    "research-applicants-decide": Act.MANAGE_PEOPLE,
    "research-applicants-file": Act.MANAGE_PEOPLE,
    "research-applicants-draw": Act.MANAGE_PEOPLE,
    "research-applicant": Methods(Act.VIEW_PEOPLE, Act.MANAGE_PEOPLE),
    # Conversations
    "research-conversations": Act.READ_CONVERSATIONS,
    "research-conversation": Act.READ_CONVERSATIONS,
    "research-mark-invalid": Act.MANAGE_PEOPLE,
    "research-mark-valid": Act.MANAGE_PEOPLE,
    "research-calls": Act.SEE_ARMS,
    "research-call": Act.SEE_ARMS,
    # Quality: two coders decide what is left out
    "research-quality": (Act.CODE, Act.SEE_ARMS),
    "research-quality-person": (Act.CODE, Act.SEE_ARMS),
    "research-quality-decision": Act.CODE,
    "research-quality-undo": Act.CODE,
    # Safety
    "research-risks": Act.SEE_SAFETY,
    "research-arm-safety": Act.SEE_ALL_SAFETY,
    "research-screen-review": Act.DECIDE_SAFETY,
    "research-drill": Act.DECIDE_SAFETY,
    "research-adverse-events": Act.SEE_SAFETY,
    "research-adverse-new": Act.DECIDE_SAFETY,
    "research-adverse-csv": Act.SEE_SAFETY,
    "research-adverse-event": Methods(Act.SEE_SAFETY, Act.DECIDE_SAFETY),
    "research-adverse-print": Act.SEE_SAFETY,
    "research-risk": Act.SEE_SAFETY,
    "research-acknowledge": Act.DECIDE_SAFETY,
    "research-write": Act.DECIDE_SAFETY,
    "research-note": Act.DECIDE_SAFETY,
    "research-release": Act.DECIDE_SAFETY,
    "research-end": Act.DECIDE_SAFETY,
    # Interviews
    "research-interviews": (Act.READ_INTERVIEWS, Act.CODE),
    "research-interviews-document": Act.READ_INTERVIEWS,
    "research-interview-codes": (Act.READ_INTERVIEWS, Act.CODE),
    "research-rename-code": Act.CODE,
    "research-merge-candidates": Act.CODE,
    "research-interview": Act.READ_INTERVIEWS,
    "research-interview-start": Act.INTERVIEW,
    "research-interview-reopen": Act.INTERVIEW,
    "research-interview-notes": Act.INTERVIEW,
    "research-interview-note": Act.INTERVIEW,
    "research-interview-files": Methods(Act.READ_INTERVIEWS, Act.INTERVIEW),
    "research-interview-file": Act.READ_INTERVIEWS,
    "research-interview-file-remove": Act.INTERVIEW,
    "research-interview-coding": Act.CODE,
    "research-unmark": Act.CODE,
    # Reviews and comparisons
    "research-reviews": Act.VIEW_STUDY,
    "research-review-new": Act.PLAN_RATINGS,
    "research-review-plan": Act.VIEW_STUDY,
    "research-review-open": Act.PLAN_RATINGS,
    "research-disagreements": Act.PLAN_RATINGS,
    "research-disagreement": Act.PLAN_RATINGS,
    "research-pairs": Act.VIEW_STUDY,
    "research-pair-new": Act.PLAN_RATINGS,
    "research-pair-plan": Act.VIEW_STUDY,
    "research-pair-open": Act.PLAN_RATINGS,
    # Judges, profiles and simulation
    "research-judges": Act.SEE_ARMS,
    "research-start-judge": Act.RUN_PAID_WORK,
    "research-probe": Act.RUN_PAID_WORK,
    "research-without": Act.RUN_PAID_WORK,
    "research-profiles": Act.SEE_ARMS,
    "research-profiles-import": Act.EDIT_DESIGN,
    "research-profiles-build": Act.RUN_PAID_WORK,
    "research-profiles-expand": Act.RUN_PAID_WORK,
    "research-profile": Methods(Act.SEE_ARMS, Act.EDIT_DESIGN),
    "research-benchmark": Act.SEE_ARMS,
    "research-benchmark-new": Act.RUN_PAID_WORK,
    "research-benchmark-stop": Act.RUN_PAID_WORK,
    "research-benchmark-go-on": Act.RUN_PAID_WORK,
    # Results
    "research-analysis": Act.SEE_RESULTS,
    "research-unblind": Act.UNBLIND,
    "research-precision": Methods(Act.SEE_RESULTS, Act.EXPORT),
    "research-export": Act.EXPORT,
    "research-start": ByArgument("command", {"export": Act.EXPORT, "analyse": Act.EXPORT, "judge": Act.RUN_PAID_WORK}),
    "research-report": Act.SEE_RESULTS,
    "research-report-language": Act.SEE_RESULTS,
    "research-file": Act.EXPORT,
    # Design
    "research-design": Act.SEE_ARMS,
    "research-check-models": Act.RUN_PAID_WORK,
    "research-study-file": Act.SEE_ARMS,
    "research-edit-design": Act.EDIT_DESIGN,
    "research-cards": Act.READ_CARDS,
    "research-card-new": Act.EDIT_DESIGN,
    "research-cards-import": Act.EDIT_DESIGN,
    "research-card": Act.READ_CARDS,
    "research-card-edit": Act.EDIT_DESIGN,
    "research-card-retire": Act.EDIT_DESIGN,
    # The API
    "api-newest": Kind.ANYONE,
    "api": Kind.ACCOUNT,
    "api-schema": Kind.ACCOUNT,
    "api-check": Kind.ACCOUNT,
    "api-studies": Methods(Kind.ACCOUNT, Kind.FOUNDER),
    "api-study": Act.SEE_ARMS,
    "api-arms": Act.SEE_ARMS,
    "api-pause-arm": Act.OPEN_CLOSE,
    "api-resume-arm": Act.OPEN_CLOSE,
    "api-open": Act.OPEN_CLOSE,
    "api-pause": Act.OPEN_CLOSE,
    "api-close": Act.OPEN_CLOSE,
    "api-invites": Act.MANAGE_PEOPLE,
    "api-people": Act.VIEW_PEOPLE,
    "api-progress": Act.SEE_ARMS,
    "api-export": Act.EXPORT,
    "api-tables": Act.EXPORT,
    "api-table": Act.EXPORT,
    "api-estimate-judge": Act.RUN_PAID_WORK,
    "api-estimate-simulation": Act.RUN_PAID_WORK,
    "api-tasks": Methods(Act.VIEW_STUDY, Act.RUN_PAID_WORK),
    "api-task": Act.VIEW_STUDY,
    "api-task-stop": Act.RUN_PAID_WORK,
    "api-results": Methods(Act.SEE_RESULTS, Act.EXPORT),
    "api-result": Act.SEE_RESULTS,
    "api-webhooks": Act.MANAGE_ACCESS,
    "api-webhook": Act.MANAGE_ACCESS,
    "api-webhook-ping": Act.MANAGE_ACCESS,
    "api-deliveries": Act.MANAGE_ACCESS,
    "api-nowhere": Kind.ACCOUNT,
}

# What asks again although its act does not: files with what people are paid or reached by, with what they said, or with
# what happened to them, tokens of the API, and links for a new password.
ASKING_ROUTES = frozenset(
    {
        *("research-payments-file", "research-applicants-file", "research-interview-file", "research-adverse-csv"),
        *("research-tokens", "research-access-password"),
    }
)

# So do the pages of the admin site on which passwords, rights and second factors of accounts change. How they begin:
ASKING_PAGES = ("admin:auth_", "admin:mfa_")

# Whole sites, by the namespace of their routes, but for what stands above.
NAMESPACES: Mapping[str, Kind] = {"admin": Kind.INSTALLATION}

# Websockets, by the name of their consumer.
SOCKETS: Mapping[str, Act | Kind] = {
    "ChatConsumer": Kind.PERSON,
    "WebsocketDenier": Kind.ANYONE,
    "DeskConsumer": Act.SEE_SAFETY,
    "BoardConsumer": Act.VIEW_STUDY,
}


def roles_with(act: Act) -> frozenset[Role]:
    return RIGHTS[act].roles


def acts_of(role: Role) -> frozenset[Act]:
    return frozenset(act for act, right in RIGHTS.items() if role in right.roles)


def find_need(route: str, method: str, arguments: Mapping[str, object]) -> Kind | tuple[Act, ...] | None:
    """Return what a request needs: a kind, or acts of which one is enough; None for a route without a line.

    `route`: the name with its namespace (`resolver_match.view_name`).
    """
    need: Need | None = ROUTES.get(route) or NAMESPACES.get(route.partition(":")[0])
    if isinstance(need, Methods):
        need = need.look if method in SAFE_METHODS else need.change
    if isinstance(need, ByArgument):
        act = need.acts.get(str(arguments.get(need.argument)))
        # An argument without a line needs all that the route can do, so that the page itself may say what it is.
        return (act,) if act else tuple(need.acts.values())
    return (need,) if isinstance(need, Act) else need


def asks_again(route: str, need: Kind | tuple[Act, ...] | None) -> bool:
    """Return whether a request with this need also needs the password, a code or a passkey given lately."""
    acts = need if isinstance(need, tuple) else ()
    return route in ASKING_ROUTES or route.startswith(ASKING_PAGES) or any(RIGHTS[act].asks_again for act in acts)


def line_for(route: str) -> str:
    """Return what to write where a route has no line."""
    return (
        f"{route!r} has no line in ROUTES of studies/access/table.py, so it is refused. Add one, for example\n"
        f'    "{route}": Act.VIEW_STUDY,\n'
        "with the act that it needs (see RIGHTS), or a Kind where no role is needed, and run manage.py write_docs."
    )
