"""A number that a phantom states can be measured from what its phantom draws."""

import nibabel
import numpy as np
import pytest
import SimpleITK

from medrcube.facts import Case
from medrcube.sources._formats.ejection_fraction import TOLERANCE
from medrcube.sources._framework.card_parts.measures import STATED
from medrcube.sources.echonet_dynamic.adapter import area
from medrcube.sources.jsrt import fixture as jsrt
from medrcube.sources.registry import find_sources

SOURCES = find_sources()


def disks(mask):
    """Volume of a cavity made of disks across an upright long axis, in pixels to the third."""
    return float((np.count_nonzero(mask, axis=1) ** 2).sum())


def ejected(diastole, systole):
    return 100 * (1 - systole / diastole)


def of_outlines(case):
    """Area squared by length: the ellipsoid of a four-chamber view alone."""
    volumes = []
    for region in case.regions:
        (outline,) = region.shape.outlines
        _, rows = zip(*outline.points, strict=True)
        volumes.append(area(outline.points) ** 2 / np.ptp(rows))
    return ejected(*volumes)


def of_masks(case):
    masks = []
    for region in case.regions:
        (path,) = region.shape.paths
        if path.name.endswith(".nii.gz"):
            voxels = nibabel.load(path).get_fdata().T
        else:
            voxels = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path)))
        masks.append(np.isin(voxels.squeeze(), region.shape.values))
    return ejected(*map(disks, masks))


def across_nodule(case):
    """Width in mm of what the film has and the same film without the nodule lacks."""
    rows = {row.split()[0]: row.split() for row in (*jsrt._NODULES, *jsrt._NORMALS)}
    row = rows[f"{case.key}.IMG"]
    marked = jsrt._film(row).astype(int) - jsrt._chest(row[0]).astype(int)
    return float(np.ptp(np.nonzero(marked.max(axis=0) > 0.5 * marked.max())[0]) + 1) * 0.175 * 8


MEASURED = {
    ("camus", "left_ejection_fraction"): (of_masks, 3.0),
    ("echonet-dynamic", "left_ejection_fraction"): (of_outlines, TOLERANCE),
    ("jsrt", "nodule_size"): (across_nodule, 2.8),
}
"""How, and how far off in the unit of the measure: of nodules two pixels of the grid."""


def test_every_number_that_only_tables_state_is_measured_here():
    stated = {
        (source.id, name)
        for source in SOURCES.values()
        for name, measure in source.card.measures.items()
        if measure.origin == STATED
    }
    assert stated == set(MEASURED)


@pytest.mark.parametrize(("source_id", "name"), sorted(MEASURED))
def test_a_stated_number_is_that_of_the_phantom(fixture_tree, source_id, name):
    source, (measure, off) = SOURCES[source_id], MEASURED[source_id, name]
    for layout in source.card.layouts:
        root = fixture_tree(source_id, layout.name)
        cases = [entry for entry in source.scan(root, layout.name) if isinstance(entry, Case)]
        pairs = [
            (measure(case), number.value)
            for case in cases
            for number in case.quantities
            if number.field == name and case.regions
        ]
        assert pairs
        assert pairs == [(pytest.approx(value, abs=off), value) for _, value in pairs]


def test_hearts_of_jsrt_take_as_much_of_the_chest_as_those_of_patients():
    ratios = []
    for stem in jsrt._HEARTS:
        person = jsrt._person(stem)
        fields = jsrt.lungs(256, 256, seed=0, person=person)
        masks = jsrt.heart(256, 256, seed=0, person=person), np.logical_or(*fields)
        heart, chest = (np.ptp(np.nonzero(mask)[1]) + 1 for mask in masks)
        ratios.append(heart / chest)
    assert (min(ratios), max(ratios)) == (
        pytest.approx(0.38, abs=0.01),
        pytest.approx(0.62, abs=0.01),
    )
    assert np.diff(ratios).min() > 0.02
