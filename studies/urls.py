from django.urls import include, path
from django.views.generic import RedirectView

from studies.api import status
from studies.care import acknowledging
from studies.person import arrival, care, offline_page, preview, questions, role_card, role_play, study
from studies.workbench.language import choose_language

urlpatterns = [
    path("", study.front, name="front"),
    path("j/<str:token>/", arrival.join, name="join"),
    path("open/<slug:study_key>/", arrival.open_door, name="open"),
    path("study/", study.study, name="study"),
    path("study/language/", study.language, name="study-language"),
    path("study/draft/", study.draft, name="study-draft"),
    path("study/role/", study.role_answer, name="study-role"),
    path("study/flag/", role_play.flag_reply, name="study-flag"),
    path("study/step-out/", role_play.step_out, name="study-step-out"),
    path("study/ask/", questions.ask, name="study-ask"),
    path("study/my-data/", include("studies.my_data.urls")),
    path("study/care/", care.care, name="study-care"),
    path("study/unsafe/", care.unsafe, name="study-unsafe"),
    path("study/safe/", care.safe, name="study-safe"),
    path("study/check/", care.check, name="study-check"),
    path("study/where/", care.where, name="study-where"),
    path("study/letter/", care.letter_read, name="study-letter-read"),
    path("study/whose/", care.role, name="study-whose"),
    path("study/played/", role_card.tick_behaviour, name="study-played"),
    path("study/reply-rating/", study.rate_reply, name="study-rate-reply"),
    path("oncall/<str:token>/", acknowledging.alarm_page, name="oncall-alarm"),
    path("research/drafts/<int:draft>/preview/", preview.preview, name="research-draft-preview"),
    path("research/drafts/<int:draft>/preview/step/", preview.preview_step, name="research-draft-preview-step"),
    path("research/", include("studies.research_urls")),
    path("language/", choose_language, name="research-language"),
    path("api/", RedirectView.as_view(pattern_name="api"), name="api-newest"),
    path("api/v1/", include("studies.api.urls")),
    path("help/", study.help_page, name="help"),
    path("offline/worker.js", offline_page.offline_worker, name="offline-worker"),
    path("offline/<str:country>/", offline_page.offline_page, name="offline-page"),
    path("pause/", study.pause, name="pause"),
    path("leave/", study.leave, name="leave"),
    path("healthz", status.healthz, name="healthz"),
    path("readyz", status.readyz, name="readyz"),
    path("metrics", status.metrics, name="metrics"),
]
