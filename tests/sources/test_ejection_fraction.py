"""An ejection fraction holds where its own volumes give it, and is unknown where they do not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.errors import RowError
from medrcube.facts import LabelState
from medrcube.sources._formats.ejection_fraction import (
    TOLERANCE,
    contradiction_skips,
    ejection_label,
)
from medrcube.sources._formats.tables.tables import TableRow


def read(**cells):
    row = TableRow(cells, "t.csv", 7)
    return ejection_label(row, "EF", diastole="EDV", systole="ESV", field="ef")


@given(full=st.integers(40, 400), data=st.data())
def test_volumes_in_whole_millilitres_give_the_fraction_that_they_were_rounded_from(full, data):
    left = data.draw(st.floats(0.1 * full, 0.9 * full))
    stated = 100 * (full - left) / full
    label = read(EF=f"{stated:.1f}", EDV=str(full), ESV=str(round(left)))
    assert label.state is LabelState.PRESENT
    assert float(label.value) == float(f"{stated:.1f}")


@given(full=st.floats(30, 400), share=st.floats(0.1, 0.9), off=st.floats(TOLERANCE + 0.1, 60))
def test_a_fraction_further_off_is_unknown(full, share, off):
    true = 100 * (1 - share)
    for stated in filter(lambda entry: 0 <= entry <= 100, (true - off, true + off)):
        label = read(EF=str(stated), EDV=str(full), ESV=str(share * full))
        assert label.state is LabelState.UNKNOWN


def test_evidence_of_an_unknown_fraction_names_the_row_and_its_volumes():
    label = read(EF="35", EDV="82", ESV="32")
    assert label.evidence == "t.csv:7 EF=35 against EDV=82, ESV=32"


def test_a_source_without_volumes_is_believed():
    assert read(EF="35").state is LabelState.PRESENT


@pytest.mark.parametrize(
    "volumes",
    [{"EDV": "82"}, {"ESV": "32"}, {"EDV": "0", "ESV": "0"}, {"EDV": "nan", "ESV": "32"}],
)
def test_volumes_that_give_no_fraction_leave_it_unknown(volumes):
    assert read(EF="35", **volumes).state is LabelState.UNKNOWN


def test_a_fraction_that_its_volumes_contradict_has_a_row_that_names_it():
    (row,) = contradiction_skips(read(EF="35", EDV="82", ESV="32"), "A")
    assert "t.csv:7 EF=35 against EDV=82, ESV=32" in row.reason
    assert not list(contradiction_skips(read(EF="61", EDV="82", ESV="32"), "A"))


@pytest.mark.parametrize("cell", ["130.2", "-4", "?"])
def test_a_fraction_that_is_no_percentage_is_a_row_that_cannot_be_used(cell):
    with pytest.raises(RowError, match=rf"EF={re.escape(cell)}: expected a"):
        read(EF=cell)
