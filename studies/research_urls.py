from django.urls import path

from studies.views.research import conversations, design, overview, people, risks, signing_in, work

urlpatterns = [
    path("", overview.studies, name="research-studies"),
    path("sign-in/", signing_in.SignIn.as_view(), name="research-sign-in"),
    path("sign-out/", signing_in.SignOut.as_view(), name="research-sign-out"),
    path("<slug:study_key>/", overview.study, name="research-study"),
    path("<slug:study_key>/invite/", overview.invitations, name="research-invite"),
    path("<slug:study_key>/people/", people.people, name="research-people"),
    path("<slug:study_key>/people/<str:code>/", people.person, name="research-person"),
    path("<slug:study_key>/people/<str:code>/admit/", people.admit, name="research-admit"),
    path("<slug:study_key>/people/<str:code>/decline/", people.decline, name="research-decline"),
    path("<slug:study_key>/people/<str:code>/erase/", people.erase, name="research-erase"),
    path("<slug:study_key>/conversations/", conversations.conversations, name="research-conversations"),
    path("<slug:study_key>/conversations/<str:code>/", conversations.conversation, name="research-conversation"),
    path("<slug:study_key>/risks/", risks.risks, name="research-risks"),
    path("<slug:study_key>/risks/<int:number>/release/", risks.release, name="research-release"),
    path("<slug:study_key>/analysis/", work.analysis, name="research-analysis"),
    path("<slug:study_key>/export/", work.export, name="research-export"),
    path("<slug:study_key>/tasks/", work.states, name="research-tasks"),
    path("<slug:study_key>/tasks/start/<str:command>/", work.start, name="research-start"),
    path("<slug:study_key>/tasks/<int:number>/report/", work.report, name="research-report"),
    path("<slug:study_key>/tasks/<int:number>/files/<path:name>", work.task_file, name="research-file"),
    path("<slug:study_key>/design/", design.design, name="research-design"),
    path("<slug:study_key>/design/study.toml", design.study_file, name="research-study-file"),
]
