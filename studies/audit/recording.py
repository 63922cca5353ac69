"""Write down what requests do: a middleware, so that no page can be forgotten.

An act and its entry are one transaction: neither is stored without the other. Looking at something is written down
when the page is ready, before it is sent; where that fails, nothing is shown.
"""

import secrets
from collections.abc import Callable
from functools import partial

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, ResolverMatch, resolve

from studies.access.log_lines import LoggedAct, find_logged
from studies.access.table import SAFE_METHODS
from studies.audit.acting import act_as, actor_of_request, get_actor
from studies.audit.chain import INSTALLATION, record
from studies.audit.changes import notice_changes
from studies.audit.codes import code_for
from studies.audit.sign_ins import watch_sign_ins
from studies.models import AuditEntry, Study

HEADER = "X-Request-ID"  # by which a proxy's log can be joined with the audit log
REDIRECTS, FAULTS = 300, 500  # the first status of each kind
FORBIDDEN = 403

Answer = Callable[[], HttpResponse]


class Recorder:
    """The middleware. It is the innermost, so that its transaction holds nothing but the gate and the view."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        watch_sign_ins()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.audit_number = secrets.token_hex(8)
        answer = partial(self.get_response, request)
        with act_as(partial(actor_of_request, request, request.audit_number)):
            match = match_of(request)
            logged, apart = find_logged(match.view_name, request.method or "") if match else (None, False)
            if match is None or logged is None:
                return answer()
            if request.method in SAFE_METHODS:
                response = record_read(request, match, logged, answer)
            else:
                response = (record_write_apart if apart else record_write)(request, match, logged, answer)
            if response.status_code == FORBIDDEN:
                write_refusal(request, match, logged, response)
            return response


def match_of(request: HttpRequest) -> ResolverMatch | None:
    """Return the route; Django resolves it again, because it does so too late for a transaction around the view."""
    try:
        return resolve(request.path_info)
    except Resolver404:
        return None


def record_read(request: HttpRequest, match: ResolverMatch, logged: LoggedAct, answer: Answer) -> HttpResponse:
    """Answer a request that reads, and write the entry unless it was refused."""
    response = answer()
    if response.status_code < REDIRECTS:
        write_entry(request, match, logged, response)
    return response


@transaction.atomic
def record_write(request: HttpRequest, match: ResolverMatch, logged: LoggedAct, answer: Answer) -> HttpResponse:
    """Answer a request that writes, with its entry in the same transaction."""
    response = record_write_apart(request, match, logged, answer)
    if response.status_code >= FAULTS:  # an exception, which Django has made into a page
        transaction.set_rollback(True)
    return response


def record_write_apart(request: HttpRequest, match: ResolverMatch, logged: LoggedAct, answer: Answer) -> HttpResponse:
    """Answer a request that writes, and write the entry afterwards if anything was changed, also beside a refusal: a
    form can be taken over in part."""
    with notice_changes() as changes:
        response = answer()
    if response.status_code < FAULTS and changes.has_any:
        write_entry(request, match, logged, response)
    return response


def write_entry(request: HttpRequest, match: ResolverMatch, logged: LoggedAct, response: HttpResponse) -> None:
    key = study_of(match)
    record(key, logged.act, logged.thing, code_for(key, match.view_name, match.kwargs))
    response[HEADER] = request.audit_number


def write_refusal(request: HttpRequest, match: ResolverMatch, logged: LoggedAct, response: HttpResponse) -> None:
    """Write down what an account was not allowed to see or do; whoever has none has no name to be written down."""
    if get_actor().account is None:
        return
    key = study_of(match)
    study_key = key if Study.objects.filter(key=key).exists() else INSTALLATION
    record(study_key, AuditEntry.Act.REFUSED, logged.thing, code_for(study_key, match.view_name, match.kwargs))
    response[HEADER] = request.audit_number


def study_of(match: ResolverMatch) -> str:
    """Return the key of the study in the address."""
    of_api = match.kwargs.get("key") if match.view_name.startswith("api-") else None
    return str(match.kwargs.get("study_key") or of_api or INSTALLATION)
