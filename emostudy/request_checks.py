"""Check the input of every request before anything else reads it (dialogue.input_checks says why)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from channels.security.websocket import WebsocketDenier
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, QueryDict

from dialogue.input_checks import is_storable, remove_unstorable


def clean_input(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Remove characters from forms that cannot be stored.

    No one types such characters into addresses, cookies and names of fields, so these requests are answered 400.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        refuse_unless_storable(request.path, *request.COOKIES.values(), *texts_of(request.GET))
        if request.method == "POST":
            refuse_other_encodings(request)
            refuse_unless_storable(*request.POST, *request.FILES)
            request.POST = clean_form(request.POST)
        return get_response(request)

    return middleware


class SocketGuard:
    """A guard against sockets whose address or cookies, as read by Channels' CookieMiddleware, hold such characters."""

    def __init__(self, application: Callable[..., Awaitable[Any]]) -> None:
        self.application = application

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> Any:
        is_clean = all(map(is_storable, (scope["path"], *scope["cookies"].values())))
        return await (self.application if is_clean else WebsocketDenier())(scope, receive, send)


def refuse_unless_storable(*texts: str) -> None:
    if not all(map(is_storable, texts)):
        raise BadRequest("a character that cannot be stored")


def refuse_other_encodings(request: HttpRequest) -> None:
    """Refuse encodings other than UTF-8. Django would decode by any codec of Python's, `unicode_escape` and `rot13`
    among them."""
    if request.content_params.get("charset", "utf-8").lower() not in ("utf-8", "utf8"):
        raise BadRequest("the encoding must be UTF-8")


def texts_of(query: QueryDict) -> list[str]:
    return [*query, *(text for _name, texts in query.lists() for text in texts)]


def clean_form(form: QueryDict) -> QueryDict:
    if all(map(is_storable, texts_of(form))):
        return form
    cleaned = form.copy()
    for name, texts in form.lists():
        cleaned.setlist(name, [remove_unstorable(text) for text in texts])
    return cleaned
