import os
import subprocess
import sys

import numpy as np
import pytest

from medrcube.sources._synthetic.head import head_ct

SLICE = (
    "import hashlib; from medrcube.sources._synthetic.head import BLEEDS, head_ct;"
    "units = head_ct(60, 60, seed=1, bleeds=frozenset(BLEEDS));"
    "print(hashlib.sha256(units.tobytes()).hexdigest())"
)


@pytest.mark.thorough
def test_a_slice_with_several_bleeds_does_not_depend_on_the_seed_of_hashes():
    slices = {
        subprocess.run(
            [sys.executable, "-c", SLICE],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in range(1, 4)
    }  # fmt: skip
    assert len(slices) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_fracture_parts_the_bone_of_one_side_alone(seed):
    bare, broken = (head_ct(130, 130, seed=seed, fracture=value) for value in (False, True))
    lost, moved = np.nonzero((bare > 500) & (broken < 100)), np.nonzero(bare != broken)
    assert len(lost[0]) > 10
    assert set(moved[1] > 65) == {bool(seed % 2)}
