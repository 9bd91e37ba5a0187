"""Whole published tables, where a copy of them is at hand: MEDRCUBE_TABLES names their folder."""

import csv
import gzip
import io
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from medrcube.build.stages.scan import scan
from medrcube.sources.registry import find_sources

TABLES = Path(os.environ.get("MEDRCUBE_TABLES", "nowhere"))
PADCHEST = TABLES / "PADCHEST_chest_x_ray_images_labels_160K_01.02.19.csv.gz"

pytestmark = pytest.mark.real


@pytest.mark.skipif(not PADCHEST.exists(), reason="MEDRCUBE_TABLES names no table of PadChest")
def test_every_row_of_padchest_becomes_a_case_or_has_a_reason_of_its_own(tmp_path):
    shutil.copy(PADCHEST, tmp_path)
    text = gzip.decompress(PADCHEST.read_bytes()).decode("utf-8-sig")
    names = [row["ImageID"] for row in csv.DictReader(io.StringIO(text))]
    (tmp_path / "images").mkdir()
    for name in names:
        (tmp_path / "images" / name).touch()
    source_scan = scan(find_sources()["padchest"], tmp_path, b"k" * 32)
    codes = Counter(problem.code for problem in source_scan.problems)
    assert (len(source_scan.cases), source_scan.absent) == (150_110, ())
    assert codes == {"set-aside": 10_723, "dropped-by-card": 28}
    assert len(source_scan.cases) + codes.total() == len(names) == 160_861
