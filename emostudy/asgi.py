"""HTTP to Django, websockets to dialogue."""

import gc
import logging
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "emostudy.settings")
django.setup(set_prefix=False)  # before anything that imports models

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.sessions import CookieMiddleware, SessionMiddleware  # noqa: E402
from django.conf import settings  # noqa: E402

from dialogue.chat.routing import websocket_urlpatterns  # noqa: E402
from dialogue.safety.screening import load_screen  # noqa: E402
from emostudy.http import Handler  # noqa: E402
from emostudy.origins import OriginGuard  # noqa: E402
from emostudy.request_checks import SocketGuard  # noqa: E402
from studies.care import clock  # noqa: E402
from studies.routing import websocket_urlpatterns as study_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": Handler(),
        "websocket": OriginGuard(
            CookieMiddleware(SocketGuard(SessionMiddleware(URLRouter([*study_urlpatterns, *websocket_urlpatterns])))),
            settings.CSRF_TRUSTED_ORIGINS,
        ),
    }
)

if settings.REPLAY:
    log = logging.getLogger("emostudy")
    log.warning("no model is asked: answers come from %s (REPLAY), in chats too", settings.REPLAY)

# Before anyone comes: loading takes the processor from those who chat.
load_screen()
clock.get_duties()

# Objects loaded by now stay. Scanning them for cycles again and again delayed running chats.
gc.collect()
gc.freeze()
