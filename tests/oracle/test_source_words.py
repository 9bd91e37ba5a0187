"""No key and no option is refuted by the words of its own row: two real tables, read again.

The samples hold few pictures, so every row is given a picture of noise: what is asked of a row
rests on the table alone.
"""

import csv
import shutil
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from truth import words

from medrcube.build_settings import BuildSettings
from medrcube.facts import Grade

pytestmark = pytest.mark.untraced
ULTRASOUND = "covid19_pocus_ultrasound/data/dataset_metadata.csv"
FILMS = "covid-chestxray-dataset/metadata.csv"
SCORES = "annotations/covid-severity-scores.csv"
ALL_ROWS = BuildSettings(items_per_cell=10_000, evidence=Grade.C, even_keys=False)
"""Silence is let in, so that the words alone stand between a zero and an option."""
REFUTED = {
    "Cov_unsmooth_pleuralline_prelim_study_SSRN_paper2": "B-lines",
    "Pneu_Avi_small-effusionA-line": "A-lines",
}
"""Pictures of the sample with a sign that their table denies and their words name."""
NORMAL_FILMS = {
    *("kjr-21-e25-g001-l-a.jpg", "41182_2020_203_Fig3_HTML.jpg", "nejmoa2001191_f1-L.jpeg"),
    *("000002-11-a.jpg", "covid-19-pneumonia-mild.JPG", "000001.jpg"),
}
"""Films of patients with a disease, of which the notes say that they are normal."""


def noise(path, seed):
    """A small picture that no other equals, in the form that its name asks for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    grey = np.random.default_rng(seed).integers(0, 255, (40, 48), np.uint8)
    Image.fromarray(grey).save(path)


@pytest.fixture
def ultrasound(real_raw, tmp_path):
    """The table of pocus-lung, each of its rows with a still picture."""
    rows = list(words.lung_ultrasound(real_raw / ULTRASOUND))
    for seed, row in enumerate(rows):
        kind = "videos" if row.cells["Type"].casefold() == "video" else "images"
        place = f"data/pocus_{kind}/{row.cells['Probe'].casefold()}/{row.name}.png"
        noise(tmp_path / "raw" / place, seed)
    table = tmp_path / "raw/data/dataset_metadata.csv"
    write(table, [{**row.cells, "Type": "image"} for row in rows])
    return table, {row.name: row for row in rows}


@pytest.fixture
def films(real_raw, tmp_path):
    """The tables of covid-chestxray, each film with a picture."""
    rows = list(words.chest_films(real_raw / FILMS))
    for seed, row in enumerate(rows):
        if row.cells["modality"] == "X-ray":
            noise(tmp_path / "raw/images" / row.name, seed)
    table, scores = tmp_path / "raw/metadata.csv", tmp_path / "raw" / SCORES
    scores.parent.mkdir()
    shutil.copy((real_raw / FILMS).parent / SCORES, scores)
    write(table, [row.cells for row in rows])
    return table, {row.name: row for row in rows}


def write(table, cells, hush=()):
    """Write a table; columns to ``hush`` lose their words."""
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, cells[0].keys())
        writer.writeheader()
        writer.writerows({**row, **dict.fromkeys(set(hush) & {*row}, "")} for row in cells)


def hushed(table, columns):
    """The same table without the words of these columns."""
    with table.open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    write(table, cells, hush=columns)


def worded_items(build):
    """Items that speak of what the rows speak of, each with the name of its row."""
    return [
        (build.oracle.samples[item.sample].case, item)
        for item in build.items
        if item.task in {"Abnormality Diagnosis", "Disease Diagnosis", "Severity Grading"}
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("variant", ["demo", "hard", "easy"])
@pytest.mark.parametrize(
    ("source", "table", "read", "faults"),
    [
        (
            "pocus-lung",
            "data/dataset_metadata.csv",
            words.lung_ultrasound,
            words.sign_faults,
        ),
        ("covid-chestxray", "metadata.csv", words.chest_films, words.film_faults),
    ],
)
def test_no_option_of_the_demo_is_refuted_by_its_row(demo, variant, source, table, read, faults):
    _, root, _ = demo[variant].oracle._sources[source]
    rows = {row.name: row for row in read(root / table)}
    mine = [(case, item) for case, item in worded_items(demo[variant]) if item.source == source]
    assert [fault for case, item in mine for fault in faults(item, rows[case])] == []


def sign_faults(build, rows):
    items = worded_items(build)
    assert len({case for case, _ in items}) > 50
    return [fault for case, item in items for fault in words.sign_faults(item, rows[case])]


def film_faults(build, rows):
    items = worded_items(build)
    assert len(items) > 20
    return [fault for case, item in items for fault in words.film_faults(item, rows[case])]


@pytest.mark.real
def test_no_option_on_lung_ultrasound_is_refuted_by_its_row(ultrasound, rebuild):
    table, rows = ultrasound
    assert sign_faults(rebuild("pocus-lung", table.parents[1], "current", ALL_ROWS), rows) == []


@pytest.mark.real
def test_options_on_lung_ultrasound_that_nobody_held_against_the_words_are_found(
    ultrasound, rebuild
):
    table, rows = ultrasound
    hushed(table, words.COMMENTS)
    assert sign_faults(rebuild("pocus-lung", table.parents[1], "current", ALL_ROWS), rows)


@pytest.mark.real
def test_no_film_that_its_notes_call_normal_is_asked_for_a_disease(films, rebuild):
    table, rows = films
    assert film_faults(rebuild("covid-chestxray", table.parent, "scored", ALL_ROWS), rows) == []


@pytest.mark.real
def test_normal_films_that_nobody_held_against_the_notes_are_found(films, rebuild):
    table, rows = films
    hushed(table, words.NOTES)
    assert film_faults(rebuild("covid-chestxray", table.parent, "scored", ALL_ROWS), rows)


@pytest.mark.real
def test_the_reader_finds_the_cells_that_words_contradict(real_raw):
    rows = list(words.lung_ultrasound(real_raw / ULTRASOUND))
    contradicted_cells = words.contradicted_cells(rows)
    assert len(contradicted_cells) > 100
    assert {(name, sign) for name, sign, _ in contradicted_cells} >= set(REFUTED.items())


@pytest.mark.real
def test_the_reader_finds_the_films_that_are_called_normal(real_raw):
    rows = list(words.chest_films(real_raw / FILMS))
    ill = {row.name for row in rows if row.cells["finding"] != "No Finding"}
    normal = {row.name for row in rows if row.calls_film_normal()}
    assert normal & ill >= NORMAL_FILMS
    assert len(normal & ill) < 40


def row(*texts):
    return words.Row("a row", texts, {})


def asking(*concepts, task="Abnormality Diagnosis"):
    """An item with these options, the first of which is the key."""
    options = tuple(SimpleNamespace(concept=concept) for concept in concepts)
    return SimpleNamespace(options=options, key=0, task=task)


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("Irregular pleural line with diffused B lines", {"pleural line irregularity", "B-lines"}),
        ("Minimal effusion, no consolidation", {"Pleural Effusion"}),
        ("no effusion; consolidation with air bronchograms", {"Consolidation", "air bronchogram"}),
        ("did not show B-lines", set()),
        ("consolidation maybe, still unsure", set()),
        ("A loss of lung sliding pattern and no A-lines", set()),
    ],
)
def test_words_are_read_with_what_denies_them(text, signs):
    entries = {sign for sign, pattern in words.SIGNS.items() if row(text).asserts(pattern)}
    assert entries == signs


@pytest.mark.parametrize("sign", words.SIGNS)
def test_a_wrong_option_that_the_row_names_is_found(sign):
    telling = row("Seen: " + sign)
    assert list(words.sign_faults(asking("something else", sign), telling))
    assert not list(words.sign_faults(asking(sign, "something else"), telling))
    assert not list(words.sign_faults(asking("something else", sign), row("no " + sign)))


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The chest radiograph was normal.", True),
        ("Normal study, with resolution of the pneumonia", True),
        ("Chest X-ray did not show abnormal changes", True),
        ("Unremarkable", True),
        ("Left lung is clear. Opacity on the right in this film.", False),
        ("The radiograph on admission (not shown) was normal", False),
        ("Normal white blood cells; the film shows opacities", False),
    ],
)
def test_a_film_is_normal_only_when_all_of_it_is_called_so(text, normal):
    asks = asking("Pneumonia", "ARDS", task="Disease Diagnosis")
    assert bool(list(words.film_faults(asks, row(text)))) is normal


def test_a_normal_film_offered_as_a_wrong_option_is_found():
    asks = asking("Lung Opacity", "No Finding")
    counts = Counter(
        " is the key" in fault for fault in words.film_faults(asks, row("Unremarkable"))
    )
    assert counts == {True: 1, False: 1}
