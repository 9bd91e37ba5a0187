"""The audit of a release: figures of what is released, and a page that shows no barred picture."""

import base64
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from medrcube.build.audit.batch_rules import BATCH_RULES
from medrcube.build.audit.html_page import _environment, audit_page
from medrcube.build.audit.open_rules import OPEN_RULES
from medrcube.build.audit.release_audit import release_audit
from medrcube.build.open_items.table import OpenItem
from medrcube.build.questions.item_table import items_from_frame
from medrcube.build.release.contact_sheets import IN_CELL, LARGEST, make_gallery, thumbnail
from medrcube.build.similarity.near_duplicates import NearDuplicate
from medrcube.build.stages.samples import samples_from_frame
from medrcube.errors import ReleaseError
from medrcube.taxonomy import Anatomy, Modality, cube_tasks

HOSTILE = '"><script>alert(1)</script><img src=https://x.test/p onerror=alert(1)>\u202e</style>'


class Page(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def pictures(self):
        return [value for tag, name, value in self.attributes if (tag, name) == ("img", "src")]


@pytest.fixture
def tables(workspace, released):
    """Items and samples of the built workspace."""
    items = items_from_frame(pd.read_parquet(workspace.items))
    return items, samples_from_frame(pd.read_parquet(workspace.samples))


@pytest.fixture
def build_audit(workspace, tables):
    """Audit of the build, as a release hands it on."""
    count = len(tables[0])
    return {
        **json.loads(workspace.audit.read_text()),
        "release": "test",
        "review": {
            "items": count,
            "unreviewed": count,
            "held_back": 0,
            "changed_since_review": 0,
            "head": None,
            "coverage": None,
            "agreement": None,
        },
    }


@pytest.fixture
def draw(workspace, tables, build_audit):
    """The page, and its audit, of some of the items: ``draw(items, review={...})``."""

    def page(items=None, **changes):
        items = tables[0] if items is None else items
        result, near = release_audit({**build_audit, **changes}, items, tables[1], workspace.root)
        gallery = make_gallery(items, by_id(tables[1]), near, workspace.root)
        return Page(audit_page(result, gallery)), result

    return page


def by_id(samples):
    return {sample.id: sample for sample in samples}


def pixels(uri):
    data = base64.b64decode(uri.partition(",")[2])
    return np.asarray(Image.open(io.BytesIO(data)).convert("L"), float)


def test_both_editions_of_a_release_have_the_same_audit_and_list_it_in_their_sums(edition):
    public, private = edition("public"), edition("private", private=True)
    for name in ("audit.json", "audit.html"):
        assert (public / name).read_bytes() == (private / name).read_bytes()
        assert f"  {name}\n" in (public / "SHA256SUMS").read_text()


def test_the_page_loads_nothing_and_runs_nothing(public):
    text = (public / "audit.html").read_text()
    page = Page(text)
    assert page.pictures
    assert all(uri.startswith("data:image/jpeg;base64,") for uri in page.pictures)
    assert not {"script", "link", "iframe", "object", "base", "form"} & set(page.elements)
    links = [value for _, name, value in page.attributes if name in ("href", "src", "action")]
    assert all(value.startswith(("#", "data:")) for value in links)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|https?://", text.partition("</style>")[0])
    policy = [value for _, name, value in page.attributes if name == "content"]
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in policy


def test_links_within_the_page_lead_somewhere(public):
    page = Page((public / "audit.html").read_text())
    places = {value for _, name, value in page.attributes if name == "id"}
    links = {value for _, name, value in page.attributes if name == "href"}
    assert {"#cube", "#review"} < links
    assert links <= {f"#{place}" for place in places}


def test_no_restricted_picture_is_on_the_page_by_its_pixels(released, tables, workspace):
    """In the private edition either: each picture on the page is nearest to one that may go."""
    _, samples = tables
    small = [(sample, pixels(thumbnail(workspace.root / sample.image))) for sample in samples]
    assert any(not sample.redistribute for sample in samples)
    page = Page((released(private=True) / "audit.html").read_text())
    page_images = [pixels(uri) for uri in page.pictures]
    assert len(page_images) > 5
    for picture in page_images:
        distances = [
            np.abs(picture - other).mean() if picture.shape == other.shape else 255
            for _, other in small
        ]
        assert min(distances) < 1
        assert small[int(np.argmin(distances))][0].redistribute


def test_a_pair_with_a_restricted_picture_is_counted_and_not_shown(tables, workspace):
    items, samples = tables
    clean = [sample for sample in samples if sample.artefact == "clean"]
    free = [sample for sample in clean if sample.redistribute]
    restricted = next(sample for sample in clean if not sample.redistribute)
    near = [
        NearDuplicate(distance=0, likeness=1.0, relation="other patient", pictures=pictures)
        for pictures in ((free[0], restricted), (restricted, free[1]), (free[0], free[1]))
    ]
    gallery = make_gallery(items, by_id(samples), near, workspace.root)
    assert [pair.pictures for pair, _, _ in gallery.pairs] == [(free[0], free[1])]


def test_a_cell_whose_pictures_are_all_restricted_says_so(draw, tables):
    items, samples = tables
    restricted = [item for item in items if not by_id(samples)[item.sample].redistribute]
    page, _ = draw(restricted)
    assert page.pictures == []
    assert "all restricted: none is shown" in page.text


def test_hostile_texts_are_shown_as_texts(draw, tables, build_audit, workspace):
    items, samples = tables
    bad = [
        replace(
            item,
            question=HOSTILE,
            options=tuple(replace(o, text=f"{o.text}{HOSTILE}") for o in item.options),
        )
        for item in items
    ]
    changes = {
        "release": HOSTILE,
        "quarantine": {HOSTILE: 3},
        "dropped": {HOSTILE: 2},
        "shared_images": [{"sources": [HOSTILE, "b"], "note": HOSTILE, "equal_pictures": 1}],
    }
    page, result = draw(bad, **changes)
    result["failures"] = [HOSTILE]
    result["licences"][0]["licence"] = HOSTILE
    result["batch_rules"]["label-prior"]["rows"] = [
        {"task": HOSTILE, "label": HOSTILE, "key": 1, "key_due": 1.0, "p": 1.0, "within": True}
    ]
    gallery = make_gallery(bad, by_id(samples), (), workspace.root)
    page = Page(audit_page(result, gallery))
    assert "script" not in page.elements
    assert all(uri.startswith("data:") for uri in page.pictures)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert page.text.count("<script>alert(1)</script>") >= 8


def test_figures_are_of_the_release_not_of_the_build(draw, tables):
    items, _ = tables
    some = [item for item in items if item.task == "Disease Diagnosis"]
    assert 0 < len(some) < len(items)
    page, result = draw(some)
    assert result["items"] == len(some)
    assert set(result["by_task"]) == {"Disease Diagnosis"}
    assert result["pictures"] == len({item.sample for item in some})
    assert sum(row["items"] for row in result["sources"].values()) == len(some)
    assert sum(row["items"] for row in result["licences"]) == len(some)
    assert sum(result["by_difficulty"].values()) == len(some)
    assert f"{len(some)} items" in page.text


def test_what_only_the_build_knows_stays(draw, tables):
    _, result = draw(tables[0][:3], quarantine={"toy / render / blank": 2}, absent={"toy": 5})
    assert result["quarantine"] == {"toy / render / blank": 2}
    assert result["absent"] == {"toy": 5}
    assert result["ontologies"]["editions"]


def test_no_patient_stands_in_the_audit(public, tables):
    text = (public / "audit.json").read_text() + (public / "audit.html").read_text()
    patients = {sample.patient for sample in tables[1]}
    assert "" not in patients
    assert not [patient for patient in patients if patient in text]


def test_without_a_review_the_page_says_so_loudly(public):
    page = Page((public / "audit.html").read_text())
    assert page.text.count("No clinician has accepted these items") == 2
    assert ("div", "role", "alert") in page.attributes


def reviewed(unreviewed, items):
    estimate = {"name": "ac1", "value": 0.8123, "low": 0.7, "high": 0.9, "items": 9, "reason": ""}
    part = {
        "stratum": "Brain / MRI",
        "reviewers": 2,
        "estimates": {"ac1": estimate},
        "pairs": [[1]],
        "may_be_released": False,
        "conditions": [{"passed": False, "words": "Lower bound of AC1: 0.70, wanted 0.75."}],
    }
    return {
        "items": items,
        "unreviewed": unreviewed,
        "held_back": 4,
        "changed_since_review": 1,
        "head": {"number": 1234, "sha256": "ab" * 32},
        "coverage": {
            "items": items,
            "states": {"accepted": items - unreviewed, "unreviewed": unreviewed},
            "strata": {"Brain / MRI": {"accepted": items - unreviewed}},
        },
        "agreement": {"all": {**part, "stratum": ""}, "strata": [part]},
    }


def test_a_review_is_stated_with_its_head_coverage_and_agreement(draw, tables):
    page, _ = draw(review=reviewed(0, len(tables[0])))
    assert "No clinician" not in page.text
    assert "not been accepted" not in page.text
    for words in ("event 1,234", "ab" * 32, "0.812", "0.700 to 0.900", "wanted 0.75", "passed"):
        assert words in page.text


def test_a_part_that_is_not_reviewed_is_said_loudly(draw, tables):
    page, _ = draw(review=reviewed(3, len(tables[0])))
    assert f"3 of {len(tables[0])} items have not been accepted by a clinician" in page.text
    page, _ = draw(review=reviewed(len(tables[0]), len(tables[0])))
    assert "No clinician has accepted these items." in page.text


def test_a_review_that_states_no_agreement_is_shown_all_the_same(draw, tables):
    page, _ = draw(review={**reviewed(0, len(tables[0])), "agreement": None})
    assert "not stated" in page.text


def test_a_rule_that_does_not_hold_stands_at_the_head_of_the_page(draw, build_audit):
    page, result = draw()
    assert "batch rules failed" not in page.text
    result["batch_rules"]["longest-option"]["holds"] = False
    gallery = make_gallery([], {}, (), None)
    page = Page(audit_page(result, gallery))
    assert f"1 of {len(BATCH_RULES)} batch rules failed: the longest" in page.text


def test_rules_that_were_not_measured_are_named_beside_those_that_failed(draw):
    _, result = draw()
    for rule in result["batch_rules"].values():
        rule["holds"] = True
    result["batch_rules"]["longest-option"]["holds"] = False
    result["open_rules"] = {}
    for name in ("image-size", "first-option"):
        result["batch_rules"][name]["holds"] = None
    page = Page(audit_page(result, make_gallery([], {}, (), None)))
    assert "2 were not measured: " in page.text
    assert "a reader who sees only the size of the image" in page.text
    assert f"of {len(BATCH_RULES)}, 2 not measured" in page.text


def test_every_rule_has_a_name():
    template = _environment().loader.get_source(_environment(), "audit.html.j2")[0]
    titles = set(re.findall(r'"([a-z-]+)": "[A-Z]', template.partition("%}")[0]))
    assert {rule.id for rule in (*BATCH_RULES, *OPEN_RULES)} - titles == set()


def test_every_rule_of_a_batch_has_its_panel(public):
    page = Page((public / "audit.html").read_text())
    audit = json.loads((public / "audit.json").read_text())
    for rule in audit["batch_rules"].values():
        assert rule["message"] in page.text


def test_the_profile_is_compared_with_what_is_released(draw, tables):
    items, _ = tables
    margins = [
        {"axis": "task", "value": "Disease Diagnosis", "wanted": 50, "planned": 9, "made": 9},
        {"axis": "modality", "value": "MRI", "wanted": 40, "planned": 9, "made": 9},
    ]
    profile = {
        "name": "own",
        "description": "Ours.",
        "wanted": 90,
        "made": 18,
        "distance": 0.8,
        "outside": ["ROI Grounding"],
        "margins": margins,
        "cells": {"Brain / MRI / Severity Grading": {"available": 3, "planned": 2, "made": 0}},
        "closers": [{"source": "ixi", "access": "open", "adds": 12, "cells": []}],
        "per_patient": 4,
        "chains": 1,
        "pictures": 2,
    }
    page, result = draw(profile=profile)
    released = [margin["released"] for margin in result["profile"]["margins"]]
    diagnoses = sum(item.task == "Disease Diagnosis" for item in items)
    outside = sum(item.task == "ROI Grounding" for item in items)
    assert diagnoses
    assert outside
    assert released == [diagnoses, len(items) - outside]
    for words in (
        "Compared with the profile",
        "of 90 that the profile own asks for",
        "ixi",
        "of 2",
    ):
        assert words in page.text


def test_sheets_show_every_source_and_answer_in_turn_and_no_picture_twice(tables, workspace):
    items, samples = tables
    gallery = make_gallery(items, by_id(samples), (), workspace.root)
    cells = {(item.anatomy, item.modality, item.task) for item in items}
    assert {sheet.cell for sheet in gallery.sheets} == cells
    for sheet in gallery.sheets:
        uris = [thumbnail.uri for thumbnail in sheet.thumbnails]
        assert len(set(uris)) == len(uris) <= IN_CELL
        members = [item for item in items if (item.anatomy, item.modality, item.task) == sheet.cell]
        free = [member for member in members if by_id(samples)[member.sample].redistribute]
        answers = {item.options[item.key].text for item in free}
        assert len({entry.title for entry in sheet.thumbnails}) == min(len(answers), IN_CELL)


@pytest.mark.thorough
def test_the_truth_of_a_box_is_drawn_over_its_picture(tables, workspace, build_audit):
    items, samples = tables
    sample = next(each for each in samples if each.redistribute)
    truth = {"size": [64, 48], "box": [8, 6, 32, 24], "iou": 0.5}
    first = next(item for item in items if item.sample == sample.id)
    facts = {"form": "box", "ask": "{}", "truth": json.dumps(truth), "chance": 0.1, "grade": "B"}
    shared = {
        name: getattr(first, name) for name in ("sample", "source", "anatomy", "modality", "seed")
    }
    box = OpenItem(
        id="box", task="Box Grounding", question="Where?", field="lesion", concept="lesion",
        visible="yes", variant="0", template="1", **facts, **shared,
    )  # fmt: skip
    gallery = make_gallery([box], by_id(samples), (), workspace.root)
    result, _ = release_audit(build_audit, items, samples, workspace.root)
    page = Page(audit_page(result, gallery))
    assert ("path", "d", "M8 6H32V24H8Z") in page.attributes
    words = "Drawn: the true box, 12 to 50 % from the left and 12 to 50 % from the top"
    assert ("svg", "aria-label", words) in page.attributes


def test_the_page_of_a_full_cube_stays_small(tables, tmp_path, build_audit):
    """Every cell is full of noise, which no encoder makes smaller."""
    items, samples = tables
    lots = np.random.default_rng(0)
    template, item = samples[0], items[0]
    pictures, all_items = [], []
    for n in range(16):
        grey = lots.integers(0, 256, (140, 140, 3), np.uint8)
        Image.fromarray(grey).save(tmp_path / f"{n}.png")
        pictures.append(
            replace(
                template,
                id=f"s{n}",
                case=f"c{n}",
                image=f"{n}.png",
                pixel_sha256=str(n),
                redistribute=True,
                artefact="clean",
            )
        )
    cells = [(a, m, t) for a in Anatomy for m in Modality for t in cube_tasks()]
    for number, (anatomy, modality, task) in enumerate(cells):
        for n in range(16):
            name = f"{number:03}-{n:02}"
            where = {"anatomy": anatomy.value, "modality": modality.value, "task": task.value}
            all_items.append(replace(item, id=name, sample=f"s{n}", **where))
    gallery = make_gallery(all_items, by_id(pictures), (), tmp_path)
    assert len(gallery.sheets) == len(cells) == 160
    assert all(sheet.thumbnails for sheet in gallery.sheets)
    assert (
        sum(len(thumbnail.uri) for sheet in gallery.sheets for thumbnail in sheet.thumbnails)
        <= LARGEST
    )
    result, _ = release_audit(build_audit, all_items, pictures, tmp_path)
    assert len(audit_page(result, gallery)) < 6_000_000


def test_a_picture_that_is_gone_stops_a_release(released, workspace):
    for path in workspace.images.rglob("*.png"):
        if not re.search(r"outline|boxes", path.name):
            path.unlink()
            break
    with pytest.raises(ReleaseError, match=r"\.png"):
        released()
