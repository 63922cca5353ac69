"""The lines of the audit log: one for every route, websocket and command, or the reason why it has none.

`studies.audit.recording` reads it for routes, `studies.audit.commands` for commands; docs/roles.md is printed from it.
A route is written down when it has answered; an act, only if it stored something; and an account's attempt at what it
may not do, as refused.

To add a route, write one line into ROUTE_LINES, or its name under a reason in UNLOGGED_ROUTES:

    "research-person": looks(Thing.PERSON),        # opening it is written down
    "research-admit": acts(Thing.PERSON),          # doing it is
    "research-applicant": both(Thing.APPLICANT),   # either
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from studies.access.table import SAFE_METHODS
from studies.models.audit import AuditEntry

Act, Thing = AuditEntry.Act, AuditEntry.Thing


class LoggedAct(NamedTuple):
    """An act and what it was done to, as an entry says them."""

    act: AuditEntry.Act
    thing: AuditEntry.Thing


@dataclass(frozen=True)
class RouteLine:
    """The entry for looking at a route (GET), and the one for doing something there.

    `apart`: the entry is written right after the act, not in its transaction, because the act asks another server, for
    which the database must not wait.
    """

    look: LoggedAct | None = None
    change: LoggedAct | None = None
    apart: bool = False


def looks(thing: AuditEntry.Thing) -> RouteLine:
    return RouteLine(look=LoggedAct(Act.SAW, thing))


def acts(thing: AuditEntry.Thing, act: AuditEntry.Act = Act.CHANGED) -> RouteLine:
    return RouteLine(change=LoggedAct(act, thing))


def both(thing: AuditEntry.Thing) -> RouteLine:
    return RouteLine(look=LoggedAct(Act.SAW, thing), change=LoggedAct(Act.CHANGED, thing))


def exports(thing: AuditEntry.Thing) -> RouteLine:
    return RouteLine(look=LoggedAct(Act.EXPORTED, thing))


ROUTE_LINES: Mapping[str, RouteLine] = {
    # Signing in
    "research-sign-in": acts(Thing.ACCOUNT, Act.SIGNED_IN),
    "account_login": acts(Thing.ACCOUNT, Act.SIGNED_IN),
    "admin:login": acts(Thing.ACCOUNT, Act.SIGNED_IN),
    "mfa_authenticate": acts(Thing.ACCOUNT, Act.SIGNED_IN),
    "account_change_password": acts(Thing.ACCOUNT),
    "mfa_activate_totp": acts(Thing.ACCOUNT),
    "mfa_deactivate_totp": acts(Thing.ACCOUNT),
    "mfa_add_webauthn": acts(Thing.ACCOUNT),
    "mfa_remove_webauthn": acts(Thing.ACCOUNT),
    "mfa_generate_recovery_codes": acts(Thing.ACCOUNT),
    "research-account-sign-out-elsewhere": acts(Thing.ACCOUNT),
    "research-tokens": acts(Thing.TOKEN),
    "research-token-revoke": acts(Thing.TOKEN),
    # Questionnaires are files, no rows: studies.questionnaires.storage writes the entry, and these lines the refusals.
    "research-questionnaire-new": acts(Thing.QUESTIONNAIRE),
    "research-questionnaire-upload": acts(Thing.QUESTIONNAIRE),
    "research-questionnaire-edit": acts(Thing.QUESTIONNAIRE),
    "research-questionnaire-remove": acts(Thing.QUESTIONNAIRE),
    # Its life
    "research-rehearse": acts(Thing.TEST_DATA, Act.STARTED),
    "research-open": acts(Thing.STAGE),
    "research-pause": acts(Thing.STAGE),
    "research-close": acts(Thing.STAGE),
    "research-archive": acts(Thing.STAGE),
    "research-resources": acts(Thing.HELP_LINES),
    # Colleagues and programs
    "research-access-leave": acts(Thing.ACCESS),
    "research-access-invite": replace(acts(Thing.ACCESS), apart=True),
    "research-access-roles": acts(Thing.ACCESS),
    "research-access-remove": acts(Thing.ACCESS),
    "research-access-password": replace(acts(Thing.ACCESS), apart=True),
    "research-access-restore": acts(Thing.ACCESS),
    "research-access-transfer": acts(Thing.ACCESS),
    "research-webhooks": acts(Thing.WEBHOOK),
    "research-webhook-stop": acts(Thing.WEBHOOK),
    "research-audit-file": exports(Thing.LOG),
    # Payments
    "research-pay": acts(Thing.PAYMENT),
    "research-correct-payment": acts(Thing.PAYMENT),
    "research-payees": acts(Thing.PAYMENT),
    "research-undo-payment": acts(Thing.PAYMENT),
    "research-undo-booking": acts(Thing.PAYMENT),
    "research-payments-file": exports(Thing.PAYMENT),
    # The running study
    "research-pause-arm": acts(Thing.ARM),
    "research-resume-arm": acts(Thing.ARM),
    "research-invite": acts(Thing.PEOPLE),
    "research-confirm": acts(Thing.WORK, Act.STARTED),
    # People
    "research-person": looks(Thing.PERSON),
    "research-admit": acts(Thing.PERSON),
    "research-decline": acts(Thing.PERSON),
    "research-let-back": acts(Thing.PERSON),
    "research-pause-person": acts(Thing.PERSON),
    "research-resume-person": acts(Thing.PERSON),
    "research-end-person": acts(Thing.PERSON),
    "research-reissue-link": acts(Thing.PERSON),
    "research-question": both(Thing.QUESTION),
    "research-applicants": looks(Thing.APPLICANT),
    "research-applicants-decide": acts(Thing.APPLICANT),
    "research-applicants-file": exports(Thing.APPLICANT),
    "research-applicants-draw": acts(Thing.APPLICANT),
    "research-applicant": both(Thing.APPLICANT),
    # Conversations
    "research-conversations": looks(Thing.CONVERSATION),
    "research-conversation": looks(Thing.CONVERSATION),
    "research-mark-invalid": acts(Thing.CONVERSATION),
    "research-mark-valid": acts(Thing.CONVERSATION),
    "research-calls": looks(Thing.CALL),
    "research-call": looks(Thing.CALL),
    # Quality
    "research-quality-person": looks(Thing.QUALITY),
    "research-quality-decision": acts(Thing.QUALITY),
    "research-quality-undo": acts(Thing.QUALITY),
    # Safety
    "research-risk": looks(Thing.SAFETY_EVENT),
    "research-screen-review": both(Thing.SAFETY_EVENT),
    "research-acknowledge": acts(Thing.SAFETY_EVENT),
    "research-drill": replace(acts(Thing.DRILL, Act.STARTED), apart=True),
    "research-write": acts(Thing.SAFETY_EVENT),
    "research-note": acts(Thing.SAFETY_EVENT),
    "research-release": acts(Thing.SAFETY_EVENT),
    "research-end": acts(Thing.SAFETY_EVENT),
    "research-adverse-events": looks(Thing.ADVERSE_EVENT),
    "research-adverse-new": acts(Thing.ADVERSE_EVENT),
    "research-adverse-csv": exports(Thing.ADVERSE_EVENT),
    "research-adverse-event": both(Thing.ADVERSE_EVENT),
    "research-adverse-print": looks(Thing.ADVERSE_EVENT),
    # Interviews
    "research-interviews-document": exports(Thing.INTERVIEW),
    "research-interview-codes": both(Thing.INTERVIEW),
    "research-rename-code": acts(Thing.INTERVIEW),
    "research-merge-candidates": acts(Thing.INTERVIEW),
    "research-interview": looks(Thing.INTERVIEW),
    "research-interview-start": acts(Thing.INTERVIEW),
    "research-interview-reopen": acts(Thing.INTERVIEW),
    "research-interview-notes": acts(Thing.INTERVIEW),
    "research-interview-note": acts(Thing.INTERVIEW),
    "research-interview-files": both(Thing.INTERVIEW),
    "research-interview-file": exports(Thing.INTERVIEW),
    "research-interview-file-remove": acts(Thing.INTERVIEW),
    "research-interview-coding": both(Thing.INTERVIEW),
    "research-unmark": acts(Thing.INTERVIEW),
    # Reviews and comparisons
    "research-review-new": acts(Thing.RATING_PLAN),
    "research-review-open": acts(Thing.RATING_PLAN),
    "research-disagreements": looks(Thing.RATING_PLAN),
    "research-disagreement": both(Thing.RATING_PLAN),
    "research-pair-new": acts(Thing.RATING_PLAN),
    "research-pair-open": acts(Thing.RATING_PLAN),
    # Judges, profiles and simulation
    "research-start-judge": acts(Thing.JUDGING, Act.STARTED),
    "research-probe": acts(Thing.JUDGING, Act.STARTED),
    "research-without": acts(Thing.JUDGING, Act.STARTED),
    "research-profiles": looks(Thing.PROFILE),
    "research-profiles-import": acts(Thing.PROFILE),
    "research-profiles-build": acts(Thing.PROFILE, Act.STARTED),
    "research-profiles-expand": acts(Thing.PROFILE, Act.STARTED),
    "research-profile": both(Thing.PROFILE),
    "research-benchmark-new": acts(Thing.SIMULATION, Act.STARTED),
    "research-benchmark-stop": acts(Thing.SIMULATION),
    "research-benchmark-go-on": acts(Thing.SIMULATION, Act.STARTED),
    # Results
    "research-analysis": looks(Thing.RESULTS),
    "research-unblind": acts(Thing.RESULTS, Act.UNBLINDED),
    "research-precision": acts(Thing.RESULTS, Act.STARTED),
    "research-start": acts(Thing.WORK, Act.STARTED),
    "research-report": looks(Thing.RESULTS),
    "research-report-language": looks(Thing.RESULTS),
    "research-file": exports(Thing.DATA),
    # Design
    "research-check-models": replace(acts(Thing.MODELS, Act.STARTED), apart=True),
    "research-card-new": acts(Thing.CARD),
    "research-cards-import": acts(Thing.CARD),
    "research-card-edit": acts(Thing.CARD),
    "research-card-retire": acts(Thing.CARD),
    # The API
    "api-open": acts(Thing.STAGE),
    "api-pause": acts(Thing.STAGE),
    "api-close": acts(Thing.STAGE),
    "api-pause-arm": acts(Thing.ARM),
    "api-resume-arm": acts(Thing.ARM),
    "api-invites": acts(Thing.PEOPLE),
    "api-export": exports(Thing.DATA),
    "api-table": exports(Thing.DATA),
    "api-tasks": acts(Thing.WORK, Act.STARTED),
    "api-task-stop": acts(Thing.WORK),
    "api-results": acts(Thing.RESULTS, Act.STARTED),
    "api-result": exports(Thing.RESULTS),
    "api-webhooks": acts(Thing.WEBHOOK),
    "api-webhook": acts(Thing.WEBHOOK),
}

# Whole sites, but for what stands above or below.
NAMESPACE_LINES: Mapping[str, RouteLine] = {"admin": both(Thing.ADMIN_SITE)}

# Why, and of which routes.
UNLOGGED_ROUTES: Mapping[str, tuple[str, ...]] = {
    "The person's own way: the transcript and the answers are the record.": (
        *("front", "join", "open", "study", "study-language", "study-draft", "study-role", "study-flag"),
        *("study-step-out", "study-care", "study-unsafe", "study-safe", "study-check", "study-where", "study-whose"),
        *("study-played", "study-rate-reply", "study-letter-read", "study-ask", "help", "pause", "leave"),
        *("my-data", "my-data-read", "my-data-file", "my-data-receipt"),
    ),
    "The safety event keeps who on call acknowledged it and when.": ("oncall-alarm",),
    "It shows no one's data and changes none.": (
        *(
            "healthz",
            "readyz",
            "metrics",
            "offline-page",
            "offline-worker",
            "research-language",
            "research-sign-out",
            "admin:logout",
            "admin:index",
        ),
        *("admin:jsi18n", "research-sample-size", "research-studies", "research-new-study", "research-welcome"),
        *("research-access-mail", "research-webhook-ping", "research-edit-design", "research-audit"),
        *("research-questionnaires", "research-questionnaire", "research-questionnaire-file"),
        *("api-newest", "api", "api-schema", "api-check", "api-webhook-ping", "api-deliveries", "api-nowhere"),
        *("api-estimate-judge", "api-estimate-simulation", "account_reauthenticate", "mfa_reauthenticate"),
        *("mfa_reauthenticate_webauthn", "mfa_index", "mfa_view_recovery_codes"),
    ),
    "The rule that does it writes it down itself, whoever calls it.": (
        *("research-erase", "research-erase-study", "research-test-data", "research-anonymise"),
        *("research-draft-load", "api-studies"),
    ),
    "It shows only links that the same person made minutes ago, which is written down.": ("research-links",),
    "A draft is no one's design before it is loaded.": (
        *("research-draft", "research-draft-undo", "research-draft-remove", "research-draft-file"),
        *("research-draft-text", "research-draft-beside", "research-draft-try", "research-draft-preview"),
        *("research-draft-preview-step", "research-draft-section", "research-draft-rows", "research-draft-row"),
    ),
    "It shows the design, which the study file tells too.": (
        *("research-life", "research-version", "research-version-file", "research-design", "research-study-file"),
        *("research-cards", "research-card", "research-judges", "api-study", "api-arms"),
    ),
    "It shows colleagues, programs or plans, no people.": (
        *("research-access", "research-reviews", "research-review-plan", "research-pairs", "research-pair-plan"),
        *("research-export", "research-benchmark", "api-tables", "api-task", "research-tasks"),
    ),
    "It renews itself while it is open; opening one of its lines is written down.": (
        "research-study",
        "research-risks",
    ),
    "A list of codes and counts, which shows no words; opening one of its lines is written down.": (
        *("research-people", "research-quality", "research-interviews", "research-payments", "research-arm-safety"),
        *("api-people", "api-progress"),
    ),
}

# Websockets, by the name of their consumer, and why none is written down.
UNLOGGED_SOCKETS: Mapping[str, str] = {
    "ChatConsumer": "The transcript is the record.",
    "WebsocketDenier": "It opens nothing.",
    "DeskConsumer": "It counts what waits at the desk; opening an event is written down.",
    "BoardConsumer": "It sends the counts of the board.",
}


class LoggedCommand(NamedTuple):
    """The entry for a command. `together`: it is short, so it and its entry are one transaction; a long one is written
    down when it ends, also by a failure."""

    logged: LoggedAct
    together: bool = False


def changes(thing: AuditEntry.Thing) -> LoggedCommand:
    return LoggedCommand(LoggedAct(Act.CHANGED, thing), together=True)


def starts(thing: AuditEntry.Thing) -> LoggedCommand:
    return LoggedCommand(LoggedAct(Act.STARTED, thing))


COMMAND_LINES: Mapping[str, LoggedCommand] = {
    "analyse_study": starts(Thing.RESULTS),
    "benchmark": starts(Thing.SIMULATION),
    "build_profiles": starts(Thing.PROFILE),
    "check_models": starts(Thing.MODELS),
    "close_study": changes(Thing.STAGE),
    "create_token": changes(Thing.TOKEN),
    "grant": changes(Thing.ACCESS),
    "import_cards": changes(Thing.CARD),
    "import_conversations": LoggedCommand(LoggedAct(Act.CHANGED, Thing.DATA)),
    "import_pairs": LoggedCommand(LoggedAct(Act.CHANGED, Thing.DATA)),
    "import_profiles": LoggedCommand(LoggedAct(Act.CHANGED, Thing.PROFILE)),
    "import_ratings": LoggedCommand(LoggedAct(Act.CHANGED, Thing.DATA)),
    "invite": changes(Thing.PEOPLE),
    "judge": starts(Thing.JUDGING),
    "judge_pairs": starts(Thing.JUDGING),
    "load_study": changes(Thing.DESIGN),
    "mail_decisions": LoggedCommand(LoggedAct(Act.CHANGED, Thing.APPLICANT)),
    "open_study": changes(Thing.STAGE),
    "pause_study": changes(Thing.STAGE),
    "plan_pairs": changes(Thing.RATING_PLAN),
    "plan_reviews": changes(Thing.RATING_PLAN),
    "reseal_contacts": changes(Thing.PAYMENT),
    "run_bots": starts(Thing.TEST_DATA),
    "simulate": starts(Thing.SIMULATION),
    "try_oncall": starts(Thing.DRILL),
}

UNLOGGED_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "The rule that does it writes it down itself, whoever calls it.": (
        *("erase", "anonymise", "enforce_retention", "export", "export_calls", "export_judgements", "export_training"),
    ),
    "It reads an exported folder, or has a database of its own.": ("analyse", "replicate", "walk_paper"),
    "It shows codes and counts.": ("plan", "replay_draws"),
    "It checks the log.": ("check_audit",),
    "It carries out what was written down when it was asked for.": ("run_jobs", "run_task", "send_alarms"),
    "It serves the pages, or is for who develops emostudy.": ("start", "makemessages", "train_screen", "write_docs"),
}


def find_logged(route: str, method: str) -> tuple[LoggedAct | None, bool]:
    """Return the act to log for a request to a route, and whether it is written apart from the transaction.

    `route`: the name with its namespace (`resolver_match.view_name`).
    """
    line = ROUTE_LINES.get(route)
    if line is None and route not in unlogged_routes():
        line = NAMESPACE_LINES.get(route.partition(":")[0])
    if line is None:
        return None, False
    return (line.look if method in SAFE_METHODS else line.change), line.apart


def unlogged_routes() -> frozenset[str]:
    return frozenset(route for routes in UNLOGGED_ROUTES.values() for route in routes)
