"""What is distributed: the wheel's packages, the source distribution, links of the package page."""

import importlib.util
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PARTS = ("build", "evaluate", "ontologies", "review", "sources", "tasks", "templates")
URL = "https://example.org/owner/medrcube"

pytestmark = pytest.mark.skipif(
    not (CHECKOUT / ".git").exists(), reason="not a checkout: what git tracks is not known"
)


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tracked():
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=CHECKOUT, text=True)  # noqa: S607
    return {name for name in names.split("\0") if name and (CHECKOUT / name).exists()}


@pytest.fixture(scope="module")
def dist():
    spec = importlib.util.spec_from_file_location("dist", CHECKOUT / ".ci" / "dist.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_folder_of_modules_is_a_package_of_the_wheel(project, tracked):
    inits = {Path(name).parent for name in tracked if name.endswith("/__init__.py")}
    packages = {
        ".".join(folder.parts if folder.parts[0] == "medrcube" else ("medrcube", *folder.parts))
        for folder in inits
        if folder.parts[0] in {"medrcube", *PARTS}
    }
    assert set(project["tool"]["setuptools"]["packages"]) == packages


def test_every_file_of_a_package_that_is_no_module_is_package_data(project, tracked):
    data = project["tool"]["setuptools"]["package-data"]
    rooms = [[part] for part in PARTS]
    patterns = [
        Path(*package.split(".")[package.split(".")[1:2] in rooms :], pattern).as_posix()
        for package, patterns in data.items()
        for pattern in patterns
    ]
    names = {
        path.relative_to(CHECKOUT).as_posix()
        for pattern in patterns
        for path in CHECKOUT.glob(pattern)
    }
    files = {name for name in tracked if name.split("/")[0] in {"medrcube", *PARTS}}
    assert {name for name in files if not name.endswith(".py")} - names == set()


@pytest.mark.thorough
def test_the_source_distribution_holds_what_is_tracked(tmp_path, tracked):
    command = (
        "import sys; from setuptools import build_meta as b; print(b.build_sdist(sys.argv[1]))"
    )
    copy = tmp_path / "copy"
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((CHECKOUT / name).read_bytes())
    process = subprocess.run(
        [sys.executable, "-P", "-c", command, str(tmp_path)],
        cwd=copy,
        check=True,
        capture_output=True,
        text=True,
    )
    with tarfile.open(tmp_path / process.stdout.split()[-1]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert tracked - names == set()


def test_pypas_build_runs_in_the_checkout_although_a_folder_has_its_name():
    command = [sys.executable, "-m", "build", "--version"]
    version = subprocess.check_output(command, cwd=CHECKOUT, text=True)
    assert re.match(r"build \d", version)


def test_the_package_page_has_no_relative_link(dist):
    page = dist.absolute_links((CHECKOUT / "README.md").read_text("utf-8"), URL, "v0.1.0")
    targets = re.findall(r"\]\(([^)\s]+)\)", page)
    assert targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", page)
    assert all(f"{URL}/raw/v0.1.0/" in target for target in pictures)


def test_links_of_the_package_page_lead_to_files(dist, tracked):
    page = dist.absolute_links((CHECKOUT / "README.md").read_text("utf-8"), URL, "v0.1.0")
    targets = re.findall(rf"\]\({URL}/(?:raw|blob)/v0\.1\.0/([^)#\s]+)", page)
    assert [target for target in targets if not (CHECKOUT / target).exists()] == []


def test_the_notice_names_the_licence_of_each_ontology():
    notice = " ".join((CHECKOUT / "NOTICE").read_text(encoding="utf-8").split())
    for statement in ("Human Phenotype Ontology", "RadLex License Version 2.0", "CC BY-ND 3.0 IGO"):
        assert statement in notice


def test_the_citation_is_of_this_version(project):
    citation = (CHECKOUT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {project['project']['version']}\n" in citation
