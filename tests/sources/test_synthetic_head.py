import os
import subprocess
import sys

SLICE = (
    "import hashlib; from medrcube.sources._synthetic.head import BLEEDS, head_ct;"
    "units = head_ct(60, 60, seed=1, bleeds=frozenset(BLEEDS));"
    "print(hashlib.sha256(units.tobytes()).hexdigest())"
)


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
