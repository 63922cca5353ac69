"""The permission `safety` of a study: it alone shows how safe each arm is, so that all others stay blind.

It is a group of Django's, one for each study; to be a superuser is not enough."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group

from studies.models import Study


def get_safety_group(study: Study) -> Group:
    """Return the group whose members may see the safety of each arm."""
    return Group.objects.get_or_create(name=f"safety: {study.key}")[0]


def is_safety_officer(user: AbstractBaseUser | AnonymousUser, study: Study) -> bool:
    return user.is_authenticated and user.groups.filter(name=f"safety: {study.key}").exists()
