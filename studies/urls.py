from django.urls import include, path
from django.views.generic import RedirectView

from studies.views import arrival, participant, role_card, role_play, status
from studies.views.research.language import choose_language

urlpatterns = [
    path("", participant.front, name="front"),
    path("j/<str:token>/", arrival.join, name="join"),
    path("open/<slug:study_key>/", arrival.open_door, name="open"),
    path("study/", participant.study, name="study"),
    path("study/language/", participant.language, name="study-language"),
    path("study/draft/", participant.draft, name="study-draft"),
    path("study/role/", participant.role_answer, name="study-role"),
    path("study/flag/", role_play.flag_reply, name="study-flag"),
    path("study/step-out/", role_play.step_out, name="study-step-out"),
    path("study/played/", role_card.played, name="study-played"),
    path("study/reply-rating/", participant.rate_reply, name="study-rate-reply"),
    path("research/", include("studies.research_urls")),
    path("language/", choose_language, name="research-language"),
    path("api/", RedirectView.as_view(pattern_name="api"), name="api-newest"),
    path("api/v1/", include("studies.api.urls")),
    path("help/", participant.help_page, name="help"),
    path("pause/", participant.pause, name="pause"),
    path("leave/", participant.leave, name="leave"),
    path("healthz", status.healthz, name="healthz"),
    path("readyz", status.readyz, name="readyz"),
    path("metrics", status.metrics, name="metrics"),
]
