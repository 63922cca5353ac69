from django.urls import path

from studies.builder import pages, section_pages, start, try_arm

urlpatterns = [
    path("new/", start.new, name="research-new-study"),
    path("<slug:study_key>/design/edit/", start.edit, name="research-edit-design"),
    path("drafts/<int:draft>/", pages.outline, name="research-draft"),
    path("drafts/<int:draft>/load/", pages.load, name="research-draft-load"),
    path("drafts/<int:draft>/undo/", pages.undo, name="research-draft-undo"),
    path("drafts/<int:draft>/remove/", pages.remove, name="research-draft-remove"),
    path("drafts/<int:draft>/study.toml", pages.download, name="research-draft-file"),
    path("drafts/<int:draft>/text/", pages.text, name="research-draft-text"),
    path("drafts/<int:draft>/arms/<int:number>/try/", try_arm.try_arm, name="research-draft-try"),
    path("drafts/<int:draft>/beside/", section_pages.beside, name="research-draft-beside"),
    path("drafts/<int:draft>/<str:slug>/", section_pages.section, name="research-draft-section"),
    path("drafts/<int:draft>/<str:slug>/rows/", section_pages.change_rows, name="research-draft-rows"),
    path("drafts/<int:draft>/<str:slug>/<int:number>/", section_pages.row, name="research-draft-row"),
]
