from django.urls import path

from studies.care.consumers import DeskConsumer

websocket_urlpatterns = [path("ws/research/<slug:study_key>/risks/", DeskConsumer.as_asgi())]
