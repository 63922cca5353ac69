"""The permission class of the API: it asks the table of roles, and the scopes of a token."""

from typing import Any

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from studies.access.api import TablePermission
from studies.access.granting import may_load
from studies.models import ApiToken


class HasScope(TablePermission):
    """Researchers may do what their role in the study says (studies/access/table.py); a token of theirs what its scopes
    say besides, in its study.

    A view says by `scopes` which scope a method needs: {"GET": "export"}. Otherwise reading needs `read`, and the rest
    `write`.
    """

    message = "This needs a researcher's account, or a token of theirs with the right scope and study."

    def has_permission(self, request: Request, view: Any) -> bool:
        if not super().has_permission(request, view):
            return False
        if not isinstance(request.auth, ApiToken):
            return True
        return request.auth.allows(get_scope(request.method or "", view), view.kwargs.get("key"))


def get_scope(method: str, view: Any) -> str:
    usual = ApiToken.Scope.READ if method in SAFE_METHODS else ApiToken.Scope.WRITE
    return str(getattr(view, "scopes", {}).get(method, usual))


def may_touch(request: Request, study_key: str) -> bool:
    """Return whether the request may load the study that its body names: a new one, or one whose design the account may
    change, and which is the token's, where the token has one."""
    token = request.auth
    if not may_load(request.user, study_key):
        return False
    return not isinstance(token, ApiToken) or token.study is None or token.study.key == study_key
