"""The settings of a laboratory that has an app of its own: DJANGO_SETTINGS_MODULE names this module."""

from emostudy.settings import *  # noqa: F403
from emostudy.settings import INSTALLED_APPS as PRODUCT

INSTALLED_APPS = [*PRODUCT, "tests.extensions"]
