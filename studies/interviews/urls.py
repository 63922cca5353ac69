from django.urls import path

from studies.interviews import pages

urlpatterns = [
    path("<slug:study_key>/interviews/", pages.people, name="research-interviews"),
    path("<slug:study_key>/interviews/document.html", pages.document, name="research-interviews-document"),
    path("<slug:study_key>/interviews/codes/", pages.codes, name="research-interview-codes"),
    path("<slug:study_key>/interviews/codes/rename/", pages.rename_code, name="research-rename-code"),
    path("<slug:study_key>/interviews/codes/merge/", pages.merge_candidates, name="research-merge-candidates"),
    path("<slug:study_key>/interviews/<str:code>/", pages.interview, name="research-interview"),
    path("<slug:study_key>/interviews/<str:code>/start/", pages.start, name="research-interview-start"),
    path("<slug:study_key>/interviews/<str:code>/reopen/", pages.reopen, name="research-interview-reopen"),
    path("<slug:study_key>/interviews/<str:code>/notes/", pages.save_notes, name="research-interview-notes"),
    path("<slug:study_key>/interviews/<str:code>/notes/<int:number>/", pages.note, name="research-interview-note"),
    path("<slug:study_key>/interviews/<str:code>/files/", pages.files, name="research-interview-files"),
    path("<slug:study_key>/interviews/<str:code>/files/<int:number>/", pages.file, name="research-interview-file"),
    path(
        "<slug:study_key>/interviews/<str:code>/files/<int:number>/remove/",
        pages.remove_file,
        name="research-interview-file-remove",
    ),
    path("<slug:study_key>/interviews/<str:code>/coding/", pages.code_passages, name="research-interview-coding"),
    path("<slug:study_key>/interviews/<str:code>/coding/<int:number>/", pages.unmark, name="research-unmark"),
]
