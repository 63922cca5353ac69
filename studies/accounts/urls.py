"""The pages of one's own account. allauth's views lead to each other by the names that it gave them."""

from allauth.account.views import reauthenticate as reauthenticate_by_password
from allauth.mfa.base.views import AuthenticateView, ReauthenticateView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import AddWebAuthnView, ReauthenticateWebAuthnView, RemoveWebAuthnView
from django.urls import path, reverse_lazy
from django.utils.translation import gettext_lazy as _

from studies.accounts import pages

FOLDER = "studies/accounts"
HOME = reverse_lazy("mfa_index")
NO_APP = {
    "title": _("Turn off the authenticator app?"),
    "text": _(
        "From then on, its codes no longer sign you in. Your recovery codes stop working when you remove your last "
        "second factor."
    ),
    "button": _("Turn it off"),
}
NO_PASSKEY = {
    "title": _("Remove this passkey?"),
    "text": _("From then on, it no longer signs you in. Recovery codes go with the last second factor."),
    "button": _("Remove it"),
}
NEW_CODES = {
    "title": _("Make new recovery codes?"),
    "text": _("The codes that you have no longer work."),
    "button": _("Make new codes"),
}

urlpatterns = [
    path("account/", pages.account, name="mfa_index"),
    path("account/password/", pages.ChangePassword.as_view(), name="account_change_password"),
    path("account/sign-out-elsewhere/", pages.sign_out_elsewhere, name="research-account-sign-out-elsewhere"),
    path("account/again/", reauthenticate_by_password, name="account_reauthenticate"),
    path(
        "account/again/code/",
        ReauthenticateView.as_view(template_name="account/reauthenticate.html"),
        name="mfa_reauthenticate",
    ),
    path(
        "account/again/passkey/",
        ReauthenticateWebAuthnView.as_view(template_name="account/reauthenticate.html"),
        name="mfa_reauthenticate_webauthn",
    ),
    path(
        "sign-in/second-step/",
        AuthenticateView.as_view(template_name=f"{FOLDER}/second_step.html"),
        name="mfa_authenticate",
    ),
    path("account/app/", ActivateTOTPView.as_view(template_name=f"{FOLDER}/app.html"), name="mfa_activate_totp"),
    path(
        "account/app/off/",
        DeactivateTOTPView.as_view(template_name=f"{FOLDER}/confirm.html", success_url=HOME, extra_context=NO_APP),
        name="mfa_deactivate_totp",
    ),
    path("account/passkey/", AddWebAuthnView.as_view(template_name=f"{FOLDER}/passkey.html"), name="mfa_add_webauthn"),
    path(
        "account/passkey/<int:pk>/remove/",
        RemoveWebAuthnView.as_view(template_name=f"{FOLDER}/confirm.html", success_url=HOME, extra_context=NO_PASSKEY),
        name="mfa_remove_webauthn",
    ),
    path(
        "account/codes/",
        ViewRecoveryCodesView.as_view(template_name=f"{FOLDER}/codes.html"),
        name="mfa_view_recovery_codes",
    ),
    path(
        "account/codes/new/",
        GenerateRecoveryCodesView.as_view(template_name=f"{FOLDER}/confirm.html", extra_context=NEW_CODES),
        name="mfa_generate_recovery_codes",
    ),
]
