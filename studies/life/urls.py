from django.urls import path

from studies.life import amendments, pages, removal_pages

urlpatterns = [
    path("<slug:study_key>/life/", pages.life, name="research-life"),
    path("<slug:study_key>/life/rehearse/", pages.rehearse, name="research-rehearse"),
    path("<slug:study_key>/life/open/", pages.open_study, name="research-open"),
    path("<slug:study_key>/life/pause/", pages.pause, name="research-pause"),
    path("<slug:study_key>/life/close/", pages.close, name="research-close"),
    path("<slug:study_key>/life/archive/", pages.archive, name="research-archive"),
    path("<slug:study_key>/life/anonymise/", removal_pages.anonymise_study, name="research-anonymise"),
    path("<slug:study_key>/life/erase/", removal_pages.erase_study, name="research-erase-study"),
    path("<slug:study_key>/life/help/", pages.resources, name="research-resources"),
    path("<slug:study_key>/life/versions/<int:version>/", amendments.version, name="research-version"),
    path(
        "<slug:study_key>/life/versions/<int:version>/study.toml", amendments.version_file, name="research-version-file"
    ),
]
