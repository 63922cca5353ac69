import pytest

from studies.models import Study
from tests import factories


@pytest.fixture
def study() -> Study:
    return factories.study("chosen", selection="manual")
