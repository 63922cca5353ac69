from django.urls import path

from studies.care import adverse_pages, drill_page, pages, screen_pages

urlpatterns = [
    path("<slug:study_key>/risks/", pages.risks, name="research-risks"),
    path("<slug:study_key>/risks/drill/", drill_page.drill, name="research-drill"),
    path("<slug:study_key>/risks/arms/", pages.arms, name="research-arm-safety"),
    path("<slug:study_key>/risks/review/", screen_pages.screen_review, name="research-screen-review"),
    path("<slug:study_key>/risks/adverse/", adverse_pages.adverse_list, name="research-adverse-events"),
    path("<slug:study_key>/risks/adverse/new/", adverse_pages.adverse_new, name="research-adverse-new"),
    path("<slug:study_key>/risks/adverse/export.csv", adverse_pages.adverse_csv, name="research-adverse-csv"),
    path("<slug:study_key>/risks/adverse/<int:number>/", adverse_pages.adverse_event, name="research-adverse-event"),
    path(
        "<slug:study_key>/risks/adverse/<int:number>/print/", adverse_pages.adverse_print, name="research-adverse-print"
    ),
    path("<slug:study_key>/risks/<int:number>/", pages.risk, name="research-risk"),
    path("<slug:study_key>/risks/<int:number>/acknowledge/", pages.acknowledge, name="research-acknowledge"),
    path("<slug:study_key>/risks/<int:number>/write/", pages.write, name="research-write"),
    path("<slug:study_key>/risks/<int:number>/note/", pages.note, name="research-note"),
    path("<slug:study_key>/risks/<int:number>/release/", pages.release, name="research-release"),
    path("<slug:study_key>/risks/<int:number>/end/", pages.end, name="research-end"),
]
