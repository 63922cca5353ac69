from channels.security.websocket import WebsocketDenier
from django.urls import path, re_path

from dialogue.chat.consumers import ChatConsumer

websocket_urlpatterns = [
    path("ws/chat/<str:code>/", ChatConsumer.as_asgi()),
    # Channels answers an address that it does not know with an error whose traceback holds the address.
    re_path("", WebsocketDenier.as_asgi()),
]
