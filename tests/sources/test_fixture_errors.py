"""A fault in the code of a source is named with its file and line."""

import pytest

from medrcube.errors import SourceError
from medrcube.sources._framework.contract import Source
from medrcube.sources.registry import find_sources


def test_fault_of_a_fixture_names_file_and_line(tmp_path):
    (tmp_path / "fixture.py").write_text("def build(root, layout):\n    {}[layout]\n")
    (tmp_path / "card.toml").touch()
    source = Source(tmp_path, find_sources()["busi"].card)
    with pytest.raises(
        SourceError, match=r"fixture raised KeyError.*fixture\.py:2.*correct"
    ) as excinfo:
        source.build_fixture(tmp_path / "raw", "files")
    assert "'files'" in str(excinfo.value)
