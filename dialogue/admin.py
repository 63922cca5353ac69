"""Read-only pages of the collected data in the admin site."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from dialogue.models import Call, Conversation, RiskEvent, Turn


class ReadOnly(admin.ModelAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Conversation)
class ConversationAdmin(ReadOnly):
    list_display = ["code", "seeker_kind", "language", "status", "end_reason", "started_at", "ended_at"]
    list_filter = ["status", "end_reason", "seeker_kind"]


@admin.register(Turn)
class TurnAdmin(ReadOnly):
    list_display = ["conversation", "number", "state", "risk_level", "attempts", "created_at"]
    list_select_related = ["conversation"]


@admin.register(Call)
class CallAdmin(ReadOnly):
    list_display = ["id", "purpose", "conversation", "turn", "attempt", "model", "status", "total_ms", "created_at"]
    list_select_related = ["conversation"]
    list_filter = ["purpose", "status"]


@admin.register(RiskEvent)
class RiskEventAdmin(ReadOnly):
    list_display = ["created_at", "level", "source", "conversation", "is_test", "released_at"]
    list_select_related = ["conversation"]
