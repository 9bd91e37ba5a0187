"""The site that ``make docs`` builds: no broken link, a search, and no request to elsewhere."""

import re
import subprocess
import sys

import pytest
from doc_blocks import ROOT

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
SECTIONS = ("how-to", "reference", "explanation", "decisions")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="needs the extra [docs]")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-W", "ignore", "-m", "sphinx", "--quiet", "--fail-on-warning"]
    process = subprocess.run(
        [*command, "--keep-going", "-b", "html", "-d", out / "trees", ROOT / "docs", out / "html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return out / "html"


def test_every_page_is_built_and_in_the_search_index(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        assert (site / f"{name}.html").exists()
        assert f'"{name}"' in index


def test_no_page_loads_anything_from_elsewhere(site):
    loaded = re.compile(
        r"<(?:script|img|iframe|link rel=\"stylesheet\")[^>]*(?:src|href)=\"(https?:[^\"]*)"
    )
    for page in site.rglob("*.html"):
        assert loaded.findall(page.read_text(encoding="utf-8")) == [], page.name


def test_the_interface_is_documented_from_its_docstrings(site):
    page = (site / "reference/python.html").read_text(encoding="utf-8")
    for name in ("Release.evaluate", "Workspace.build", "load_run", "write_report"):
        assert f'id="medrcube.{name}"' in page


@pytest.mark.parametrize("section", SECTIONS)
def test_an_index_names_every_page_of_its_section(section):
    folder = ROOT / "docs" / section
    text = (folder / "index.md").read_text(encoding="utf-8")
    missing = [page.name for page in folder.glob("*.md") if f"]({page.name})" not in text]
    assert sorted(missing) == ["index.md"]
