"""Authentication: of a researcher in a browser by their session, of a program by its token."""

from django.contrib.auth.models import AbstractBaseUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from studies.connections.tokens import find_token
from studies.models import ApiToken

KEYWORD = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer est_…`; `request.auth` is then the token."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, ApiToken] | None:
        keyword, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if keyword.lower() != KEYWORD.lower():
            return None
        token = find_token(text.strip())
        if token is None or token.created_by is None:
            raise AuthenticationFailed("This token is unknown, expired or revoked.")
        return token.created_by, token

    def authenticate_header(self, request: Request) -> str:
        return KEYWORD
