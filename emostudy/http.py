"""Django's HTTP handler, which handles a request in one go in one of a few permanent threads.

Django's own gives every request a new thread, and so a new database connection, and passes it back and forth between
that thread and the event loop for each middleware. Conversations share the event loop and had to wait.

If the database does not answer, threads wait for it, and soon all of them do. Other threads therefore tell people after
a few seconds, and show the help page whatever the database does.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest, HttpResponse
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.security import SecurityMiddleware

from emostudy.database_health import DatabaseHealth
from studies.participation.language import quiet_headers
from studies.person.broken import HEALTH, HELP, page_without_database

# More threads would not make pages faster, because Python runs one at a time, but conversations slower.
THREADS = 4
PATIENCE = 2.0  # seconds until the database is checked
HELP_PATIENCE = 0.5  # seconds for the help page and its country
FILES = f"/{settings.STATIC_URL.lstrip('/')}"


class Handler(ASGIHandler):
    def __init__(self) -> None:
        super().__init__()
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="http")
        self.spare = ThreadPoolExecutor(THREADS, thread_name_prefix="spare")
        self.pulse = DatabaseHealth()
        # They would close the connections of another thread than the one that answers; `respond` closes the right ones.
        request_started.disconnect(reset_queries)
        request_started.disconnect(close_old_connections)
        request_finished.disconnect(close_old_connections)

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope, receive, send) -> None:
        await self.handle(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(FILES):  # WhiteNoise comes before all middleware that knows a database
            return await in_thread(self.spare, self.respond, request)
        if not self.pulse.is_away and request.path != HEALTH:
            page = asyncio.ensure_future(in_thread(self.threads, self.respond, request))
            if await self.waits_for_page(page, for_help=request.path == HELP):
                return page.result()
            page.add_done_callback(forget)
        request.is_answered = True
        return await in_thread(self.spare, self.respond_without_database, request)

    async def waits_for_page(self, page: "asyncio.Future[HttpResponse]", *, for_help: bool) -> bool:
        """Return whether to wait for a page: a slow one yes, one that waits for an unreachable database no."""
        while not (await asyncio.wait([page], timeout=HELP_PATIENCE if for_help else PATIENCE))[0]:
            if for_help or not await self.pulse.answers():
                return page.done()
        return True

    def respond(self, request: HttpRequest) -> HttpResponse | None:
        if hasattr(request, "is_answered"):
            return None  # it waited for a thread until it was told that the database is away
        close_old_connections()
        try:
            return self.get_response(request)
        finally:
            close_old_connections()

    def respond_without_database(self, request: HttpRequest) -> HttpResponse:
        """Return the page without a database, with the headers of all other pages."""
        return SecurityMiddleware(XFrameOptionsMiddleware(quiet_headers(page_without_database)))(request)


async def in_thread(
    threads: ThreadPoolExecutor, act: Callable[[HttpRequest], HttpResponse], request: HttpRequest
) -> HttpResponse:
    return await sync_to_async(act, thread_sensitive=False, executor=threads)(request)


def forget(page: "asyncio.Future[HttpResponse]") -> None:
    """Drop the result of a page that no one waits for any more; the handler has logged its errors."""
    if not page.cancelled():
        page.exception()
