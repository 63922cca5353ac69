from django.urls import path

from studies.seeker_profiles import pages

urlpatterns = [
    path("<slug:study_key>/profiles/", pages.profiles, name="research-profiles"),
    path("<slug:study_key>/import-profiles/", pages.import_file, name="research-profiles-import"),
    path("<slug:study_key>/build-profiles/", pages.build, name="research-profiles-build"),
    path("<slug:study_key>/expand-profiles/", pages.expand, name="research-profiles-expand"),
    path("<slug:study_key>/profiles/<path:key>/", pages.profile, name="research-profile"),
]
