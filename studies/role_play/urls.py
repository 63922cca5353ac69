from django.urls import path

from studies.role_play import pages

urlpatterns = [
    path("<slug:study_key>/design/cards/", pages.cards, name="research-cards"),
    path("<slug:study_key>/design/write-card/", pages.new, name="research-card-new"),
    path("<slug:study_key>/design/import-cards/", pages.import_file, name="research-cards-import"),
    path("<slug:study_key>/design/cards/<slug:key>/", pages.card, name="research-card"),
    path("<slug:study_key>/design/cards/<slug:key>/edit/", pages.edit, name="research-card-edit"),
    path("<slug:study_key>/design/cards/<slug:key>/retire/", pages.retire, name="research-card-retire"),
]
