"""Limits to requests: by address, before anyone is looked up, and by token or account."""

from typing import Any

from django.core.cache import caches
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from studies.models import ApiToken


class Throttle(SimpleRateThrottle):
    cache = caches["requests"]


class AddressThrottle(Throttle):
    """A limit by the address from which a request comes, also for requests without a valid token."""

    scope = "address"

    def get_cache_key(self, request: Request, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}


class CallerThrottle(Throttle):
    """A limit for each token; for each account where a browser asks."""

    scope = "caller"

    def get_cache_key(self, request: Request, view: Any) -> str:
        who = f"token-{request.auth.pk}" if isinstance(request.auth, ApiToken) else f"account-{request.user.pk}"
        return self.cache_format % {"scope": self.scope, "ident": who}
