"""Find the roles of an account in a study, and the acts that they allow."""

from collections.abc import Iterable
from functools import cached_property

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from studies.access.table import RIGHTS, Act, Kind, acts_of, find_need, roles_with
from studies.models import Membership, Study, StudyDraft
from studies.models.membership import Role

Viewer = AbstractBaseUser | AnonymousUser


def is_researcher(user: Viewer) -> bool:
    """Return whether this account is one of the researchers' pages; what it may do there, its roles say."""
    return user.is_authenticated and user.is_active and user.is_staff


def is_installation_admin(user: Viewer) -> bool:
    return is_researcher(user) and user.is_superuser


class Access:
    """The rights of one account in one study. An admin of the installation is an admin of every study."""

    def __init__(self, user: Viewer, study: Study) -> None:
        self.user = user
        self.study = study

    @cached_property
    def roles(self) -> frozenset[Role]:
        if not is_researcher(self.user):
            return frozenset()
        roles = Membership.objects.filter(study=self.study, user_id=self.user.pk).values_list("role", flat=True)
        return frozenset(map(Role, roles)) | ({Role.ADMIN} if is_installation_admin(self.user) else set())

    @cached_property
    def acts(self) -> frozenset[Act]:
        return frozenset(act for role in self.roles for act in acts_of(role))

    def may(self, act: Act) -> bool:
        """Return whether they may do it. Of an admin of the installation, most is known without asking the database."""
        if is_installation_admin(self.user) and Role.ADMIN in roles_with(act):
            return True
        return act in self.acts

    def may_any(self, acts: Iterable[Act]) -> bool:
        return any(map(self.may, acts))

    def may_look_at(self, route: str) -> bool:
        """Return whether they may open the page of the study that has this name."""
        need = find_need(route, "GET", {})
        return isinstance(need, tuple) and self.may_any(need)

    def is_member(self) -> bool:
        return is_installation_admin(self.user) or bool(self.roles)

    def __getitem__(self, act: str) -> bool:
        """Let templates ask: `{% if may.see_arms %}`."""
        return self.may(Act(act))


def find_access(user: Viewer, key: str) -> Access:
    """Return the rights in the study with this key. Raise Http404 where there is none, and where the account has no
    role in it: so no one learns which studies others have."""
    access = Access(user, get_object_or_404(Study, key=key))
    if not access.is_member():
        raise Http404
    return access


def studies_of(user: Viewer, act: Act = Act.VIEW_COLLEAGUES) -> QuerySet[Study]:
    """Return the studies in which this account may do something; by default, in which it has any role."""
    if is_installation_admin(user) and Role.ADMIN in roles_with(act):
        return Study.objects.all()
    if not is_researcher(user):
        return Study.objects.none()
    held = Membership.objects.filter(user_id=user.pk, role__in=RIGHTS[act].roles)
    return Study.objects.filter(pk__in=held.values("study"))


def drafts_of(user: Viewer) -> QuerySet[StudyDraft]:
    """Return the drafts that this account may change: those of its studies; and its own that have no study yet, as long
    as it may set one up, because loading a draft does so, and trying its models costs money."""
    if is_installation_admin(user):
        return StudyDraft.objects.all()
    drafts = StudyDraft.objects.filter(study__in=studies_of(user, Act.EDIT_DESIGN))
    return drafts | StudyDraft.objects.filter(study=None, owner_id=user.pk) if may_found_studies(user) else drafts


def may_found_studies(user: Viewer) -> bool:
    """Return whether this account may set up a new study, and so spend money on trying its models."""
    return is_researcher(user) and (
        user.has_perm("studies.add_study")
        or Membership.objects.filter(user_id=user.pk, role__in=(Role.ADMIN, Role.RESEARCHER)).exists()
    )


def passes(user: Viewer, kind: Kind) -> bool:
    """Return whether an account of the researchers' pages may use a route that belongs to no study."""
    if kind == Kind.INSTALLATION:
        return is_installation_admin(user)
    return may_found_studies(user) if kind == Kind.FOUNDER else kind == Kind.ACCOUNT
