"""Giving, changing and taking away roles."""

from collections.abc import Collection

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from studies.access.access import Access, Viewer, is_installation_admin
from studies.access.table import BLIND_ROLES, Act
from studies.models import Membership, Study
from studies.models.membership import Role


class RolesError(Exception):
    """Roles that cannot be given or taken away; the message says why, for pages and for the command."""


def check_roles(user: AbstractBaseUser, roles: Collection[Role]) -> None:
    """Raise RolesError where the account may not hold these roles together: who rates stays blind."""
    if BLIND_ROLES & set(roles) and is_installation_admin(user):
        raise RolesError(_("An admin of the installation sees everything, so they cannot have a blind role."))
    if BLIND_ROLES & set(roles) and set(roles) - BLIND_ROLES:
        raise RolesError(
            _("Counsellors, reviewers and coders stay blind, so these roles cannot be held together with the others.")
        )


@transaction.atomic
def set_roles(study: Study, user: AbstractBaseUser, roles: Collection[Role], *, by: Viewer | None) -> bool:
    """Make these the account's roles in the study, none of them to take away all; return whether that changes anything.

    Raise RolesError where the roles exclude each other, or where the study would lose its last admin.
    """
    check_roles(user, roles)
    Study.objects.select_for_update().get(pk=study.pk)
    held = roles_of(study, user)
    if held == set(roles):
        return False
    if Role.ADMIN in held and Role.ADMIN not in roles and not has_other_admin(study, user):
        raise RolesError(_("A study needs an admin. Make someone else an admin first."))
    study.memberships.filter(user_id=user.pk).exclude(role__in=roles).delete()
    Membership.objects.bulk_create(
        Membership(study=study, user_id=user.pk, role=role, invited_by_id=by.pk if by else None)
        for role in Role
        if role in roles and role not in held
    )
    return True


def roles_of(study: Study, user: AbstractBaseUser) -> set[Role]:
    return set(map(Role, study.memberships.filter(user_id=user.pk).values_list("role", flat=True)))


def has_other_admin(study: Study, user: AbstractBaseUser) -> bool:
    """Return whether the study has another admin who can sign in."""
    return can_sign_in().filter(memberships__study=study, memberships__role=Role.ADMIN).exclude(pk=user.pk).exists()


def can_sign_in() -> QuerySet[User]:
    """Return the accounts that can sign in: not locked, and with a password."""
    return User.objects.filter(is_active=True, is_staff=True).exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX)


@transaction.atomic
def transfer(study: Study, *, giver: AbstractBaseUser, to: AbstractBaseUser, stay_as: Role | None) -> None:
    """Make `to` an admin in place of `giver`, who keeps their other roles and `stay_as`. Raise RolesError."""
    set_roles(study, to, {*(roles_of(study, to) - BLIND_ROLES), Role.ADMIN}, by=giver)
    left = (roles_of(study, giver) - {Role.ADMIN}) | ({stay_as} if stay_as else set())
    set_roles(study, giver, left, by=giver)


def make_founder(study: Study, user: AbstractBaseUser) -> None:
    """Make the account that has just set up a study its admin."""
    set_roles(study, user, [Role.ADMIN], by=user)


def may_load(user: Viewer, key: str) -> bool:
    """Return whether the account may load a study with this key: a new one, or one whose design it may change."""
    study = Study.objects.filter(key=key).first()
    return study is None or Access(user, study).may(Act.EDIT_DESIGN)
