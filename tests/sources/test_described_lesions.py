"""An ultrasound phantom of a breast shows what its table says of the lesion."""

from dataclasses import replace

import numpy as np
import pytest

from medrcube.sources._synthetic.breast import Descriptors, breast_ultrasound
from medrcube.sources._synthetic.images import bounds, lesion

SIZE = (120, 150)
PLAIN = Descriptors()
SEEDS = range(1, 5)


def scan(seed, **values):
    mask = lesion(*SIZE, seed=seed)
    grey = breast_ultrasound(
        *SIZE, seed=seed, lesion=mask, descriptors=replace(PLAIN, **values)
    ).astype(float)
    return grey, mask


def behind(grey, mask):
    x0, _, x1, y1 = bounds(mask)
    return grey[y1 + 2 : y1 + 15, x0 + 4 : x1 - 4]


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_dark_behind_a_shadow_bright_behind_fluid_and_both_where_combined(seed):
    plain, dark, bright, both = (
        behind(*scan(seed, behind=name)) for name in ("no", "shadowing", "enhancement", "combined")
    )
    assert dark.mean() < 0.5 * plain.mean()
    assert bright.mean() > 1.3 * plain.mean()
    half = both.shape[1] // 2
    assert both[:, : half - 2].mean() < plain.mean() < both[:, half + 2 :].mean()


@pytest.mark.parametrize("seed", SEEDS)
def test_lesions_are_as_bright_as_their_echogenicity_says(seed):
    means = []
    for echo in ("anechoic", "hypoechoic", "isoechoic", "hyperechoic"):
        grey, mask = scan(seed, echo=echo)
        means.append(grey[mask].mean())
    assert np.all(np.diff(means) > 8)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_halo_is_a_bright_rim_around_the_lesion(seed):
    grey, mask = scan(seed, halo=True)
    _, _, x1, _ = bounds(mask)
    row = int(np.nonzero(mask)[0].mean())
    rim = np.s_[row - 2 : row + 3, x1 + 1 : x1 + 3]
    assert grey[rim].mean() > scan(seed)[0][rim].mean() + 20


@pytest.mark.parametrize("seed", SEEDS)
def test_thick_skin_is_a_bright_band_below_the_probe(seed):
    band = np.s_[6:12]
    assert scan(seed, thick_skin=True)[0][band].mean() > 1.5 * scan(seed)[0][band].mean()


@pytest.mark.parametrize(("kind", "share"), [("in a mass", 1), ("intraductal", 0)])
@pytest.mark.parametrize("seed", SEEDS)
def test_calcifications_lie_in_a_mass_or_beside_it(seed, kind, share):
    plain, mask = scan(seed)
    specks = scan(seed, calcification=kind)[0] - plain > 60
    assert (specks & mask).sum() / specks.sum() == share
