"""The researchers' pages: each room has its own."""

from django.urls import include, path

ROOMS = (
    "builder",
    "workbench",
    "board",
    "care",
    "interviews",
    "judging",
    "role_play",
    "second_raters",
    "seeker_profiles",
    "selection",
    "simulation",
)

urlpatterns = [path("", include(f"studies.{room}.urls")) for room in ROOMS]
