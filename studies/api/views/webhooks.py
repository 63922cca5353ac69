"""Webhooks of a study: made, tried, stopped; and the log of what was sent."""

from typing import Any

from django.core.validators import URLValidator
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from studies.api.views.people import Pages
from studies.api.views.root import Conflict, RefusalSerializer, StudyView
from studies.api.views.tasks import read
from studies.connections.webhooks import MOST_WEBHOOKS, create_webhook, stop_webhook
from studies.models import Delivery, Webhook
from studies.webhooks.events import PING, create_delivery


class NewWebhookSerializer(serializers.Serializer):
    address = serializers.CharField(max_length=500, validators=[URLValidator(schemes=["http", "https"])])
    events = serializers.ListField(child=serializers.ChoiceField(Webhook.Event.choices), min_length=1, max_length=20)


class WebhookSerializer(serializers.ModelSerializer):
    number = serializers.IntegerField(source="pk")
    events = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Webhook
        fields = ["number", "address", "events", "created_by_name", "created_at", "stopped_at"]


class WebhookWithKeySerializer(WebhookSerializer):
    key = serializers.CharField(source="get_key", help_text="Signs its requests. Shown this once.")

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "key"]


class DeliverySerializer(serializers.ModelSerializer):
    id = serializers.UUIDField(source="id_of_event")
    body = serializers.DictField()

    class Meta:
        model = Delivery
        fields = ["id", "event", "body", "created_at", "attempts", "due_at", "sent_at", "given_up_at", "answer"]


class Webhooks(StudyView):
    @extend_schema(responses=WebhookSerializer(many=True))
    def get(self, request: Request, key: str) -> Response:
        return Response(WebhookSerializer(self.get_study().webhooks.all(), many=True).data)

    @extend_schema(request=NewWebhookSerializer, responses={201: WebhookWithKeySerializer, 409: RefusalSerializer})
    def post(self, request: Request, key: str) -> Response:
        """Make a webhook. The key that signs its requests is in this answer alone."""
        study, wish = self.get_study(), read(NewWebhookSerializer, request)
        if study.webhooks.filter(stopped_at=None).count() >= MOST_WEBHOOKS:
            raise Conflict(f"A study has at most {MOST_WEBHOOKS} webhooks. Stop one first.")
        webhook = create_webhook(study, request.user, **wish)
        return Response(WebhookWithKeySerializer(webhook).data, status=status.HTTP_201_CREATED)


class WebhookView(StudyView):
    """The base of views about one webhook."""

    def get_webhook(self) -> Webhook:
        return get_object_or_404(self.get_study().webhooks, pk=self.kwargs["number"])


class OneWebhook(WebhookView):
    @extend_schema(responses=WebhookSerializer)
    def get(self, request: Request, key: str, number: int) -> Response:
        return Response(WebhookSerializer(self.get_webhook()).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, key: str, number: int) -> Response:
        """Stop a webhook: it is told of nothing any more. Its log stays."""
        stop_webhook(self.get_webhook())
        return Response(status=status.HTTP_204_NO_CONTENT)


class Ping(WebhookView):
    @extend_schema(request=None, responses={202: DeliverySerializer, 409: RefusalSerializer})
    def post(self, request: Request, key: str, number: int) -> Response:
        """Send a `ping` soon, to see whether it arrives; `deliveries/` tells."""
        webhook = self.get_webhook()
        if webhook.stopped_at:
            raise Conflict("The webhook is stopped.")
        return Response(DeliverySerializer(create_delivery(webhook, PING, {})).data, status=status.HTTP_202_ACCEPTED)


class Deliveries(WebhookView, ListAPIView):
    serializer_class = DeliverySerializer
    pagination_class = Pages
    queryset = Delivery.objects.none()  # tells the schema what it lists

    def get_queryset(self) -> Any:
        return self.get_webhook().deliveries.all()
