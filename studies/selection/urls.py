from django.urls import path

from studies.selection import pages

urlpatterns = [
    path("<slug:study_key>/applicants/", pages.applicants, name="research-applicants"),
    path("<slug:study_key>/applicants/<str:code>/", pages.applicant, name="research-applicant"),
]
