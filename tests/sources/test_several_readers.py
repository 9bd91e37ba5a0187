"""Readers who differ leave a finding open."""

import pytest

from medrcube.facts import LabelState
from medrcube.sources._formats.several_readers import unanimous

P, A, U = LabelState.PRESENT, LabelState.ABSENT, LabelState.UNKNOWN


@pytest.mark.parametrize(
    ("expected", "state"),
    [((P, P, P), P), ((A, A), A), ((P, P, A), U), ((P, U), U), ((A, U), U), ((), U), ((U,), U)],
)
def test_only_what_all_readers_say_is_known(expected, state):
    assert unanimous(expected) is state
