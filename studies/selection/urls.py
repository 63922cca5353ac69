from django.urls import path

from studies.selection import decide_pages, draw_pages, pages

urlpatterns = [
    path("<slug:study_key>/applicants/", pages.applicants, name="research-applicants"),
    path("<slug:study_key>/applicants/decide/", decide_pages.decide, name="research-applicants-decide"),
    path("<slug:study_key>/applicants/decided.csv", decide_pages.decided_file, name="research-applicants-file"),
    path("<slug:study_key>/applicants/draw/", draw_pages.draw_some, name="research-applicants-draw"),
    path("<slug:study_key>/applicants/<str:code>/", pages.applicant, name="research-applicant"),
]
