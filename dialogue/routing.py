from django.urls import path

from dialogue.consumers import ChatConsumer

websocket_urlpatterns = [path("ws/chat/<str:code>/", ChatConsumer.as_asgi())]
