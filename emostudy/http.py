"""Django's HTTP handler, with a request handled in one go by one of a few threads that stay.

Django's own gives every request a new thread, and so a new database connection, and passes it back and forth between
that thread and the event loop for each middleware. Conversations share the event loop, and waited for all of it.
"""

from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest, HttpResponse

# More would not make pages faster, since Python runs one at a time, but conversations slower.
THREADS = 4


class Handler(ASGIHandler):
    def __init__(self) -> None:
        super().__init__()
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="http")
        # They would tidy the connections of another thread than the one that answers; `respond` tidies the right ones.
        request_started.disconnect(reset_queries)
        request_started.disconnect(close_old_connections)
        request_finished.disconnect(close_old_connections)

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope, receive, send) -> None:
        await self.handle(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponse:
        return await sync_to_async(self.respond, thread_sensitive=False, executor=self.threads)(request)

    def respond(self, request: HttpRequest) -> HttpResponse:
        close_old_connections()
        try:
            return self.get_response(request)
        finally:
            close_old_connections()
