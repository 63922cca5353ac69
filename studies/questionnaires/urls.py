from django.urls import path

from studies.questionnaires import pages

urlpatterns = [
    path("questionnaires/", pages.list_all, name="research-questionnaires"),
    path("questionnaires/new/", pages.new, name="research-questionnaire-new"),
    path("questionnaires/upload/", pages.upload, name="research-questionnaire-upload"),
    path("questionnaires/<slug:instrument>/", pages.one, name="research-questionnaire"),
    path("questionnaires/<slug:instrument>/edit/", pages.edit, name="research-questionnaire-edit"),
    path("questionnaires/<slug:instrument>/remove/", pages.remove, name="research-questionnaire-remove"),
    path("questionnaires/<slug:instrument>/file.json", pages.download, name="research-questionnaire-file"),
]
