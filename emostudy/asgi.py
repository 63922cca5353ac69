"""HTTP to Django, websockets to dialogue."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "emostudy.settings")
http = get_asgi_application()  # before anything that imports models

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import OriginValidator  # noqa: E402
from channels.sessions import SessionMiddlewareStack  # noqa: E402
from django.conf import settings  # noqa: E402

from dialogue.routing import websocket_urlpatterns  # noqa: E402

origins = [*settings.ALLOWED_HOSTS, *settings.CSRF_TRUSTED_ORIGINS]
application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": OriginValidator(SessionMiddlewareStack(URLRouter(websocket_urlpatterns)), origins),
    }
)
