"""The suite looks at itself: a folder that is not collected would pass in silence."""

from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).parent


def test_no_folder_of_tests_is_left_out_by_its_name(request):
    """The default of pytest leaves out every folder called `build`."""
    patterns = request.config.getini("norecursedirs")
    folders = {path.parent.name for path in HERE.rglob("test_*.py")}
    assert "build" in folders
    assert not [name for name in folders for pattern in patterns if fnmatch(name, pattern)]
