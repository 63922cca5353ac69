"""The permission of the API: it asks the same table as the pages."""

from typing import Any

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from studies.access.access import find_access, is_researcher, passes
from studies.access.confirming import is_confirmed_for, lacks_second_factor
from studies.access.table import Kind, asks_again, find_need


class TablePermission(BasePermission):
    """Require what studies/access/table.py says of the route. A study in which the account has no role is not found."""

    def has_permission(self, request: Request, view: Any) -> bool:
        match = request.resolver_match
        need = find_need(match.view_name, request.method, match.kwargs)
        if need == Kind.ANYONE:
            return True
        if need is None or not is_researcher(request.user):
            return False
        if isinstance(need, Kind):
            may = passes(request.user, need)
        else:
            key = match.kwargs["study_key" if "study_key" in match.kwargs else "key"]
            may = find_access(request.user, key).may_any(need)
        if may and request.auth is None:
            check_browser(request, asks_again(match.view_name, need))
        return may


def check_browser(request: Request, asks: bool) -> None:
    """Raise PermissionDenied, with what to do, where a browser's session is not enough. Tokens are, within their
    scopes."""
    if lacks_second_factor(request.user):
        raise PermissionDenied("This account needs a second factor: set one up on the page of your account.")
    if asks and not is_confirmed_for(request):
        raise PermissionDenied("Confirm your password first, at /research/account/again/, or use a token.")
