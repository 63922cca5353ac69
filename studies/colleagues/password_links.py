"""A link for a new password, which an admin of a study makes for a colleague who has forgotten theirs.

Whoever has the link gets into the account. So an admin of a study makes one only for accounts that can do nothing
outside the studies that this admin runs, and not for other admins. Admins of the installation may for all but each
other.
"""

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from studies.access.access import Viewer, is_installation_admin
from studies.colleagues.invitations import Invitation, link_for, send_invitation
from studies.colleagues.pages import colleague_for
from studies.models import Membership, Study
from studies.models.membership import Role
from studies.workbench.access import show, study_page


def may_make_link(maker: Viewer, user: User) -> bool:
    """Return whether `maker`, an admin of a study of theirs, may make a link for a new password of this account."""
    if user.pk == maker.pk or user.is_superuser or not user.is_active:
        return False
    return is_installation_admin(maker) or not has_more_rights(user, maker)


def has_more_rights(user: User, maker: Viewer) -> bool:
    """Return whether the account is an admin, or can do something outside the studies of which `maker` is an admin."""
    run = Membership.objects.filter(user_id=maker.pk, role=Role.ADMIN).values("study")
    memberships = Membership.objects.filter(user=user)
    elsewhere = memberships.exclude(study__in=run) | memberships.filter(role=Role.ADMIN)
    return elsewhere.exists() or user.user_permissions.exists() or user.groups.exists()


@require_http_methods(["GET", "POST"])
@study_page
def password_link(request: HttpRequest, study: Study, account: int) -> HttpResponse:
    """Ask, then take the old password away and mail the link; where no mail can be sent, show it."""
    user = colleague_for(study, account)
    if not may_make_link(request.user, user):
        messages.error(
            request,
            _("%(name)s also has rights that you cannot give. Ask an admin of the installation for a new password.")
            % {"name": user.get_username()},
        )
        return redirect("research-access-roles", study.key, user.pk)
    if request.method != "POST":
        return show(request, study, "access_password", {"colleague": user})
    user.set_unusable_password()  # which also ends their sessions
    user.save(update_fields=["password"])
    invitation = Invitation(user, is_new=False, link=link_for(request, user, study))
    fault = send_invitation(request, study, invitation, roles_in(study, user))
    if fault:
        return show(request, study, "access_password", {"colleague": user, "link": invitation.link, "fault": fault})
    messages.success(request, _("A mail with the link has been sent to %(name)s.") % {"name": user.get_username()})
    return redirect("research-access", study.key)


def roles_in(study: Study, user: User) -> list[Role]:
    held = set(study.memberships.filter(user=user).values_list("role", flat=True))
    return [role for role in Role if role in held]
