"""The researchers' pages: each room has its own."""

from django.urls import include, path

# Addresses of no study come first: `tokens/` would be a study's key to a later room.
ROOMS = (
    "audit",
    "builder",
    "questionnaires",
    "colleagues",
    "accounts",
    "workbench",
    "connections",
    "board",
    "care",
    "interviews",
    "judging",
    "life",
    "payments",
    "role_play",
    "second_raters",
    "seeker_profiles",
    "selection",
    "simulation",
)

urlpatterns = [path("", include(f"studies.{room}.urls")) for room in ROOMS]
