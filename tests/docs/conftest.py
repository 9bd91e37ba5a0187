import os
import sys
from pathlib import Path

import pytest

# What these tests share stands in a module beside them.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _no_queue_of_other_tests(monkeypatch):
    """What a page starts must not write into the database of the tests of the queue."""
    for name in [name for name in os.environ if name.startswith("MEDRCUBE_REVIEW")]:
        monkeypatch.delenv(name)
