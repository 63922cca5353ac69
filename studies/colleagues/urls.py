from django.urls import path

from studies.colleagues import pages, password_links, passwords

urlpatterns = [
    path("welcome/<uidb64>/<token>/", passwords.ChoosePassword.as_view(), name="research-welcome"),
    path("<slug:study_key>/access/", pages.access, name="research-access"),
    path("<slug:study_key>/access/invite/", pages.invite, name="research-access-invite"),
    path("<slug:study_key>/access/leave/", pages.leave, name="research-access-leave"),
    path("<slug:study_key>/access/restore/", pages.restore, name="research-access-restore"),
    path("<slug:study_key>/access/transfer/", pages.transfer_study, name="research-access-transfer"),
    path("<slug:study_key>/access/<int:account>/", pages.change, name="research-access-roles"),
    path("<slug:study_key>/access/<int:account>/mail/", pages.mail_again, name="research-access-mail"),
    path("<slug:study_key>/access/<int:account>/remove/", pages.remove, name="research-access-remove"),
    path(
        "<slug:study_key>/access/<int:account>/password/", password_links.password_link, name="research-access-password"
    ),
]
