"""What all tests share: the data mirror, and a loud skip of the tests that need it when there is none."""

import pytest

from judgekit import paths

NO_MIRROR = "needs real data: set JUDGEKIT_DATA to a data mirror"


def pytest_collection_modifyitems(items):
    """Skip tests marked ``realdata`` when there is no mirror; ``-ra`` prints the reason."""
    if paths.data_mirror() is None:
        for item in items:
            if item.get_closest_marker("realdata"):
                item.add_marker(pytest.mark.skip(reason=NO_MIRROR))


@pytest.fixture
def mirror():
    """The data mirror's folder; a test that asks for it is skipped aloud when there is none."""
    folder = paths.data_mirror()
    if folder is None:
        pytest.skip(NO_MIRROR)
    return folder
