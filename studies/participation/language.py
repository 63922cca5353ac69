"""The language of pages, and the headers of every page."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

from dialogue.languages import LANGUAGES, get_code

KEY = "language"
LANGUAGE_COOKIE = "emostudy_language"  # read where the session cannot be: studies.person.broken
CODES = {language.code: language.django for language in LANGUAGES}  # an instrument's name of a language → Django's
POLICY = (
    "default-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src {connect}; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)
# What no page uses, a page that was tampered with cannot use either. Passkeys need the last two.
PERMISSIONS = ", ".join(
    (
        *(
            f"{name}=()"
            for name in ("camera", "display-capture", "geolocation", "microphone", "midi", "payment", "usb")
        ),
        *(f"publickey-credentials-{name}=(self)" for name in ("create", "get")),
    )
)


def remember_language(request: HttpRequest, language: str) -> None:
    if request.session.get(KEY) != language:
        request.session[KEY] = language
    translation.activate(CODES[language])


def instrument_language() -> str:
    """Return the active language as instruments name it."""
    return get_code(translation.get_language() or "")


class ParticipationLanguageMiddleware(LocaleMiddleware):
    """Activate the language that the person chose, or else the one that the browser asks for."""

    def process_request(self, request: HttpRequest) -> None:
        language = request.session.get(KEY)
        if language in CODES:
            translation.activate(CODES[language])
            request.LANGUAGE_CODE = translation.get_language()
        else:
            super().process_request(request)

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response = super().process_response(request, response)
        language = request.session.get(KEY)
        if language in CODES and request.COOKIES.get(LANGUAGE_COOKIE) != language:
            response.set_cookie(
                LANGUAGE_COOKIE, language, max_age=settings.SESSION_COOKIE_AGE, secure=settings.HTTPS, httponly=True,
                samesite="Lax",
            )  # fmt: skip
        return response


def own_addresses(request: HttpRequest) -> str:
    """Return where a page's script may connect to. Older browsers do not count websockets of the same host
    as 'self'."""
    return f"'self' {'wss' if request.is_secure() else 'ws'}://{request.get_host()}"


def quiet_headers(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Keep pages out of caches and off other sites, and prevent requests to other hosts and use of devices."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY.format(connect=own_addresses(request)))
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

    return middleware
