"""Points and boxes of real samples against their raw masks, and an oracle that notices a shift."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from truth.places import place_faults

from medrcube.build.execution.local import LocalEngine
from medrcube.build.open_items.question import CaseView
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.pipeline import build
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.stages.geometry_table import GEOMETRY, Geometry
from medrcube.build.stages.samples import samples_from_frame
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.forms.regions import MaskRegion
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.workspace import WorkspaceFolder

pytestmark = [pytest.mark.thorough, pytest.mark.untraced, pytest.mark.real]
FOLDERS = {
    "busi": ("Dataset_BUSI_with_GT", "original"),
    "hc18": ("HC18", "zenodo"),
    "msd-hippocampus": ("MSD_Task04_Hippocampus", "course"),
}
"""Source -> folder among the real samples, and its layout."""


@pytest.fixture(scope="module")
def placed(real_raw, tmp_path_factory):
    """Every point and box that real samples may be asked for: card, case, question, sample."""
    roots = {name: real_raw / folder for name, (folder, _) in FOLDERS.items()}
    if absent := [root.name for root in roots.values() if not root.is_dir()]:
        pytest.skip(f"no real samples of {absent} in {real_raw}")
    sources = {name: find_sources()[name] for name in FOLDERS}
    workspace = WorkspaceFolder(
        root=tmp_path_factory.mktemp("places"),
        sources=roots,
        settings=BuildSettings(even_keys=False, viewer=False),
    )
    (workspace.root / "cache").mkdir()
    build(workspace, sources, LocalEngine(1), Reporter(quiet=True))
    cases = {
        (name, case.key): case
        for name, source in sources.items()
        for case in source.scan(roots[name], FOLDERS[name][1])
        if hasattr(case, "images")
    }
    samples = samples_from_frame(pd.read_parquet(workspace.samples))
    table = pd.read_parquet(workspace.geometry)[list(GEOMETRY.file_schema.names)].to_dict("records")
    rows = [Geometry(**row) for row in table]
    terms, entries = load_terms(), []
    for (name, key), case in cases.items():
        card = sources[name].card
        for task in ("Point Grounding", "Box Grounding"):
            view = CaseView(
                task=Task(task),
                card=card,
                case=case,
                facts=facts_of_case(card, case, terms),
                samples=tuple(
                    sample for sample in samples if (sample.source, sample.case) == (name, key)
                ),
                geometry=tuple(row for row in rows if (row.source, row.case) == (name, key)),
                terms=terms,
                relations=load_relations(),
            )
            entries += [
                (card, case, Retold(question, question.target), question.sample)
                for question in open_questions(view)
                if not question.bar_reason
            ]
    return entries


def test_every_point_and_box_of_real_samples_lies_where_the_raw_masks_say(placed):
    faults = []
    for card, case, item, sample in placed:
        own = place_faults(card, case, item, sample)
        faults += [f"{card.id} {sample.case} {item.form}: {fault}" for fault in own]
    assert not faults, "\n".join(faults[:10])
    assert {(card.id, item.form) for card, _, item, _ in placed} >= {
        ("busi", "point"),
        ("hc18", "box"),
        ("msd-hippocampus", "box"),
        ("msd-hippocampus", "point"),
    }


@pytest.mark.parametrize("axis", [0, 1])
def test_a_place_that_is_mirrored_is_noticed(placed, axis):
    noticed = []
    for card, case, item, sample in placed:
        target = item.target
        if item.form == "box" or not isinstance(target.region, MaskRegion):
            continue
        width, height = target.size
        runs = np.arange(len(target.region.counts)) % 2 == 1
        mask = np.flip(np.repeat(runs, target.region.counts).reshape(width, height), axis)
        edges = np.flatnonzero(np.diff(mask.ravel().astype(int), prepend=0)).tolist()
        counts = tuple(np.diff([0, *edges, mask.size]).tolist())
        wrong = replace(target, region=MaskRegion(size=target.region.size, counts=counts))
        noticed.append(bool(list(place_faults(card, case, Retold(item, wrong), sample))))
    assert len(noticed) > 10
    assert all(noticed)


class Retold:
    """A question, or an item, with a target of its own."""

    def __init__(self, item, target):
        self.form, self.field, self.concept = target.form, item.field, item.concept
        self.target = target
