"""A finding on a synthetic chest film shows within its box and nowhere else."""

import os
import subprocess
import sys

import numpy as np
import pytest

from medrcube.ontologies.terms import load_terms
from medrcube.sources._synthetic.chest_film import lungs
from medrcube.sources._synthetic.chest_signs import SIGNS, areas_of, film_with, sign_area
from medrcube.sources._synthetic.images import bounds

SIZE = (160, 150)
PAINTED = sorted(concept for concept, sign in SIGNS.items() if sign.stroke and not sign.body)
FILM = (
    "import hashlib;"
    "from medrcube.sources._synthetic.chest_signs import SIGNS, areas_of, film_with;"
    "film = film_with(areas_of(SIGNS, 80, 80, seed=1), 80, 80, seed=1);"
    "print(hashlib.sha256(film.tobytes()).hexdigest())"
)


def film_of(concept, seed):
    return film_with(areas_of([concept], *SIZE, seed=seed), *SIZE, seed=seed).astype(int)


def test_every_sign_is_that_of_a_concept():
    assert set(SIGNS) <= set(load_terms())


@pytest.mark.few(16)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("concept", PAINTED)
def test_nothing_is_drawn_outside_the_area(concept, seed):
    area = sign_area(concept, *SIZE, seed=seed)
    differs = film_of(concept, seed) != film_with({}, *SIZE, seed=seed)
    assert differs[area].any()
    assert not differs[~area].any()


@pytest.mark.few(16)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("concept", sorted(SIGNS))
def test_a_sign_changes_what_lies_in_its_box(concept, seed):
    x0, y0, x1, y1 = bounds(sign_area(concept, *SIZE, seed=seed))
    difference = np.abs(film_of(concept, seed) - film_with({}, *SIZE, seed=seed).astype(int))
    assert np.percentile(difference[y0:y1, x0:x1], 95) > 10


@pytest.mark.parametrize("seed", range(5))
def test_an_enlarged_heart_takes_more_than_half_of_the_chest(seed):
    chest = np.logical_or(*lungs(*SIZE, seed=seed))
    left, _, right, _ = bounds(sign_area("Cardiomegaly", *SIZE, seed=seed))
    first, _, last, _ = bounds(chest)
    assert (right - left) / (last - first) > 0.5


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("concept", ["Pneumothorax", "Tuberculosis"])
def test_air_and_cavities_lie_in_the_upper_half_of_the_side_that_is_asked_for(concept, which):
    area = sign_area(concept, *SIZE, seed=4, which=which)
    rows, columns = np.nonzero(area)
    assert rows.mean() < SIZE[0] / 2
    assert (columns > SIZE[1] / 2).all() == bool(which)


def test_an_effusion_hides_the_diaphragm_at_the_wall_and_climbs_along_it():
    for which in (0, 1):
        area = sign_area("Pleural Effusion", *SIZE, seed=2, which=which)
        tops = np.argmax(area, axis=0)[area.any(axis=0)]
        assert (np.diff(tops if which else tops[::-1]) <= 0).all()


def test_a_film_does_not_depend_on_the_seed_of_hashes():
    films = {
        subprocess.run(
            [sys.executable, "-c", FILM],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in (1, 2)
    }  # fmt: skip
    assert len(films) == 1
