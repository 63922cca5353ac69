from django.urls import path

from studies.board.consumers import BoardConsumer
from studies.care.consumers import DeskConsumer

websocket_urlpatterns = [
    path("ws/research/<slug:study_key>/risks/", DeskConsumer.as_asgi()),
    path("ws/research/<slug:study_key>/board/", BoardConsumer.as_asgi()),
]
