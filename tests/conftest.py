"""Fixtures that several test folders share."""

import contextlib
import fcntl
import functools
import gc
import json
import os
import re
import shutil
import signal
import ssl
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import coverage
import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

# Before numpy is imported: with a thread for each core, fits of a few hundred numbers take seven
# times the processor time, and the other workers need those cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.demo import run_demo
from medrcube.facts import Grade
from medrcube.ontologies.index.compile import compile_index
from medrcube.ontologies.readers import open_ontology
from medrcube.sources import registry
from medrcube.sources._framework.card_parts.fields import REASON_KEYS
from medrcube.sources._framework.contract import Source, load_source
from medrcube.sources.registry import find_sources
from medrcube.vocabulary.layers import active_vocabulary
from medrcube.workspace import WorkspaceFolder

# Writers of files that only tests read.
sys.path.insert(0, str(Path(__file__).parent / "writers"))

# A machine under load is slow, not wrong; the gate tries the same examples every time.
for name, examples in (("fast", 12), ("thorough", 40)):
    settings.register_profile(
        name,
        deadline=None,
        derandomize="CI" in os.environ,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("fast")

# One tree of commands for every call in this process: to make it takes a tenth of a second.
typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)

# No package is installed while tests run; to look through all of them takes longer than the cards.
registry.entry_points = functools.cache(registry.entry_points)


@functools.cache
def _read_shipped(folder, vocabulary):
    return load_source(folder)


def _load_once(folder):
    """Read a shipped source once; the many commands that tests call look for all of them."""
    shipped = folder.parent == Path(registry.__file__).parent
    return _read_shipped(folder, active_vocabulary()) if shipped else load_source(folder)


registry.load_source = _load_once

_create_default_context = ssl.create_default_context


@functools.cache
def _trusting(cafile):
    return _create_default_context(cafile=cafile)


def _create_context_once(*purpose, **options):
    """Read the trusted authorities once; each client of a provider reads them otherwise."""
    if not purpose and options.keys() == {"cafile"}:
        return _trusting(options["cafile"])
    return _create_default_context(*purpose, **options)


ssl.create_default_context = _create_context_once

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The shell has no windows: to open a page costs it a quarter of the processor time."""
SWITCHED_OFF = (
    # What Playwright switches off; the last list on a command line replaces those before it.
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    # Pages of the browser itself, which each new window loads in processes of their own.
    "PreloadTopChromeWebUI",
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "SpareRendererForSitePerProcess",
)
"""Features of the browser. Without the pages of its windows a page costs half."""
SHARED = Path(os.environ.get("MEDRCUBE_SHARED", Path(__file__).parents[2] / "shared"))

SOURCES = find_sources()
ONE_OF_EACH_READER = {
    "busi": "raster, masks in files of their own",
    "camus": "NIfTI",
    "cbis-ddsm": "DICOM",
    "echonet-dynamic": "video",
    "figshare-brain-tumor": "MATLAB",
    "lidc-idri": "DICOM series, regions in XML",
    "vindr-cxr": "boxes of several readers",
}
"""Sources whose tests are run by ``make test``; those of the others are thorough."""

SLOW_FIXTURES = {"build_tree", "postgresql", "postgresql_server"}
ONE_WORKER = {
    "tests/oracle/": "oracle",
    "tests/test_demo": "demo",
    "tests/evaluate/models/test_hf": "torch",
    "tests/evaluate/models/test_batch_invariance": "torch",
}


def pytest_configure(config):
    """Hear Ctrl-C: what is started in the background is deaf to it, and so is all it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput") and config.args_source is config.ArgsSource.TESTPATHS:
        config.args = _in_turn(config.workerinput)


def _in_turn(worker):
    """All files of tests, from another one on in each worker.

    In a fresh checkout pytest rewrites the assertions of every file, which takes as long as all
    else before the first test. So a worker finds two thirds of them done by the others.
    """
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    start = int(worker["workerid"].removeprefix("gw")) * len(files) // worker["workercount"]
    return [str(file) for file in files[start:] + files[:start]]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark thorough what is asked of each source beyond one of each reader, and of real samples.

    Of those sources, what is asked of a further layout is thorough too, and so is what builds a
    changed tree or starts PostgreSQL. Of a test marked ``few(n)`` all parameters but n are
    thorough. Tests of whole commands come first: their files take longest, and the last file of a
    run keeps one worker busy while the others wait.
    """
    items.sort(key=lambda item: (item.path.parent != Path(__file__).parent, item.path))
    for item in items:
        layouts = _layouts_of(item)
        beyond = layouts.keys() - ONE_OF_EACH_READER.keys() or any(layouts.values())
        if beyond or item.get_closest_marker("real") or SLOW_FIXTURES & {*item.fixturenames}:
            item.add_marker(pytest.mark.thorough)
    for item in _beyond_a_few(items):
        item.add_marker(pytest.mark.thorough)
        item.add_marker(pytest.mark.untraced)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect no garbage meanwhile: there is next to none, and looking for it takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish():
    """Keep the thousands of tests out of every later collection of garbage."""
    gc.freeze()


def _beyond_a_few(items):
    """Of each test marked ``few(n)`` the parameters beyond n, which are spread evenly over all."""
    tests = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("thorough"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for same in tests.values():
        count = same[0].get_closest_marker("few").args[0]
        numbers = {number * len(same) // count for number in range(count)}
        yield from (item for number, item in enumerate(same) if number not in numbers)


def _layouts_of(item):
    """Of each source that a test is about: its further layouts that the test is about.

    The sources are in the parameters of a test, or its file of traps is about one.
    """
    values = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
    if item.path.parent.name == "traps":
        values.append(item.path.stem.removeprefix("test_").replace("_", "-"))
    words = {word for value in values for word in _words(value)}
    return {
        name: [layout.name for layout in SOURCES[name].card.layouts[1:] if layout.name in words]
        for name in words & SOURCES.keys()
    }


def _words(value):
    """Texts of a parameter: an id, the name of a folder, a source, or a row of a table with one."""
    if isinstance(value, Source):
        value = value.id
    elif isinstance(value, dict):
        value = value.get("source"), value.get("layout")
    parts = value if isinstance(value, tuple) else (value,)
    texts = [part for part in parts if isinstance(part, str)]
    return [*texts, *(text.replace("_", "-") for text in texts)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Trace no test of the whole, and none on real samples, which are not there everywhere.

    Between two such tests the tracer stays off: to start it makes Python instrument its code anew.
    """
    if _traced_test(item):
        return (yield)
    if not _paused and (tracing := coverage.Coverage.current()):
        tracing.stop()
        _paused.append(tracing)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)  # for processes that it starts
            return (yield)
    finally:
        if _paused and (nextitem is None or _traced_test(nextitem)):
            _paused.pop().start()


def _traced_test(item):
    return not any(map(item.get_closest_marker, ("real", "untraced")))


_paused = []
"""The tracer, while tests run that are not traced."""


@contextlib.contextmanager
def _traced():
    """Trace again for a while."""
    tracers = [_paused.pop() for _ in tuple(_paused)]
    for tracing in tracers:
        tracing.start()
    try:
        yield
    finally:
        for tracing in tracers:
            tracing.stop()
        _paused.extend(tracers)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Files that share what takes long in a process go to one worker.

    Those of the oracle build the demo in all its variants; those of local models import torch; of
    those of the demo, the second would wait for the first to build it.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415  (only where it is used)

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            shared = (name for start, name in ONE_WORKER.items() if nodeid.startswith(start))
            return next(shared, None) or super()._split_scope(nodeid)

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def made_once(request, tmp_path_factory):
    """A folder that is filled once for all workers of this session: ``made_once(name, fill)``.

    ``fill`` takes the folder; it is traced, whichever test asks first, unless ``traced`` is false.
    Who changes what is in it takes a copy.
    """
    session = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        session = session.parent
    (session / "once").mkdir(exist_ok=True)

    def make(name, fill, *, traced=True):
        folder = session / "once" / name
        marker = folder.with_name(f"{name}.done")
        with folder.with_name(f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not marker.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
                folder.mkdir()
                with _traced() if traced else contextlib.nullcontext():
                    fill(folder)
                marker.touch()
        return folder

    return make


@pytest.fixture(scope="session", autouse=True)
def _trees_generated_once(made_once):
    """Generate the synthetic tree of a shipped source once a session; who asks gets a copy."""
    generate = Source.build_fixture

    def build_fixture(source, root, layout):
        shipped = source.id in SOURCES and source.folder == SOURCES[source.id].folder
        if shipped and not (root.exists() and any(root.iterdir())):
            tree = made_once(
                f"{source.id} {layout}", lambda folder: generate(source, folder, layout)
            )
            shutil.copytree(tree, root, symlinks=True, dirs_exist_ok=True)
        else:
            generate(source, root, layout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Source, "build_fixture", build_fixture)
        yield


EVERY_QUESTION = BuildSettings(evidence=Grade.C, items_per_cell=0, even_keys=False)
"""Silence counts as evidence, and which questions a batch keeps is no fact of a case."""


@pytest.fixture(scope="session")
def build_raw(build_raw_trees):
    """``(source_id, raw, root)`` -> the workspace ``root`` after a build of a raw tree."""

    def make(source_id, raw, root, **settings):
        return build_raw_trees({source_id: raw}, root, **settings)

    return make


@pytest.fixture(scope="session")
def build_raw_trees():
    """``({source_id: raw}, root)`` -> the workspace ``root`` after a build of raw trees."""

    def make(roots, root, engine=LocalEngine(1), **settings):  # noqa: B008  (it is frozen)
        build_settings = replace(EVERY_QUESTION, **settings)
        workspace = WorkspaceFolder(root=root, settings=build_settings, sources=roots)
        workspace.cache.parent.mkdir(parents=True)
        (workspace.cache.parent / "patient.key").write_bytes(b"k" * 32)
        build(workspace, SOURCES, engine, Reporter(quiet=True))
        return workspace

    return make


@pytest.fixture(scope="session")
def built_layout(made_once, build_raw, tree_state):
    """``(source_id, layout)`` -> a workspace built from its synthetic tree: never change either.

    The tree may not be written to meanwhile; ``tree.json`` beside it tells what it was before.
    """

    @functools.cache
    def make(source_id, layout):
        def fill(folder):
            SOURCES[source_id].build_fixture(folder / "raw", layout)
            (folder / "tree.json").write_text(json.dumps(tree_state(folder / "raw")))
            with _read_only(folder / "raw"):
                build_raw(source_id, folder / "raw", folder / "workspace")

        folder = made_once(f"built {source_id} {layout}", fill)
        return WorkspaceFolder(
            root=folder / "workspace", settings=EVERY_QUESTION, sources={source_id: folder / "raw"}
        )

    return make


@pytest.fixture(scope="session")
def tree_state():
    """Size and time of change of every file and folder of a tree, by name."""

    def make(root):
        return {
            path.relative_to(root).as_posix(): [path.stat().st_size, path.stat().st_mtime_ns]
            for path in root.rglob("*")
        }

    return make


@contextlib.contextmanager
def _read_only(root):
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.fixture(scope="module")
def browser():
    """A running Chromium; one for all tests of a module, since it holds an event loop.

    What calls ``asyncio.run`` for a test with a browser is a fixture of the session, so that it
    comes first. Names of hosts lead nowhere: what a page asks for is looked at by its tests, and
    this keeps the browser's own services, which no page knows of, from asking.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra [dev]")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    with pytest.MonkeyPatch.context() as patch, sync_api.sync_playwright() as driver:
        # Playwright keeps an event loop in this thread, which Django takes for asynchronous code.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        chromium = driver.chromium.launch(
            executable_path=program,
            args=[
                "--no-sandbox",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                f"--disable-features={','.join(SWITCHED_OFF)}",
            ],
        )
        yield chromium
        chromium.close()


RUN_AXE = """async options => {
    const report = await axe.run({resultTypes: ["violations"], ...options});
    return report.violations.map(rule => [rule.id, rule.nodes[0].target]);
}"""
"""Only violations come back: to send all that passes takes longer than the check."""
OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


@pytest.fixture(scope="session")
def axe_violations():
    """Check a page by every rule of axe: ``axe_violations(page)`` -> rule and place of each.

    First in the light scheme, then in the dark one by the rules that depend on it.
    """
    axe = pytest.importorskip("axe_playwright_python.base", reason="needs the extra [dev]")

    def run(page, **options):
        if not page.evaluate("'axe' in window"):
            page.evaluate(axe.AXE_SCRIPT)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        violations = page.evaluate(RUN_AXE, options)
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        return violations + page.evaluate(RUN_AXE, {**options, "runOnly": OF_COLOURS})

    return run


@pytest.fixture(scope="session")
def real_raw():
    """The folder of real samples; skips the test where it is not there."""
    folder = SHARED / "real_raw"
    if not folder.is_dir():
        pytest.skip(f"no real samples at {folder}; set MEDRCUBE_SHARED to their parent folder")
    return folder


@pytest.fixture(scope="session")
def real_ontologies():
    """The folder of real ontology files; skips the test where it is not there."""
    folder = SHARED / "ontologies_raw"
    if not folder.is_dir():
        pytest.skip(f"no real ontologies at {folder}; set MEDRCUBE_SHARED to their parent folder")
    return folder


@pytest.fixture(scope="session")
def real_index(made_once, real_ontologies):
    """Path of the index of the real ontologies, with their mappings: never change it."""
    pytest.importorskip("pronto")

    def fill(folder):
        files = (real_ontologies / name for name in REAL_ONTOLOGIES)
        compile_index(folder / "index.sqlite3", map(open_ontology, files))

    return made_once("real index", fill, traced=False) / "index.sqlite3"


REAL_ONTOLOGIES = (
    "hp_2025-01-16.obo.gz",
    "radlex_2017-01_term_rid_parent.csv.gz",
    "SimpleTabulation-ICD-11-MMS-en_2024-01.zip",
    "mondo_exactmatch_icd11_foundation_2026-08-04.sssom.tsv.gz",
)


CARD = """\
id = "toy"
title = "A toy source"
homepage = "https://example.org/toy"
release = "1.0"
images = 3
citation = "@misc{toy, title={Toy}}"

[access]
mode = "open"
licence = "CC-BY-4.0"
redistribute = true
basis = { says = "CC BY 4.0", place = "https://example.org/toy" }
steps = ["Download it."]

[[layout]]
name = "flat"
expect = { "*.png" = 3 }

[case]
anatomy = "Brain"
modality = "MRI"
patient = "unknown"
tasks = ["Modality Recognition"]
"""

ADAPTER = """\
from medrcube.facts import Case, ImageRef

def cases(root, layout):
    for path in sorted(root.glob("*.png")):
        yield Case(key=path.stem, images=(ImageRef(paths=(path,)),))
"""


@pytest.fixture
def toy_source(tmp_path):
    """Make a source folder: ``toy_source(card=..., adapter=...)`` returns its path."""

    def make(*, card=CARD, adapter=ADAPTER, name="toy"):
        folder = tmp_path / "sources" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "card.toml").write_text(card)
        (folder / "adapter.py").write_text(adapter)
        return folder

    return make


WHY = '{ reason = "A test says so.", evidence = "tests" }'


@pytest.fixture(scope="session")
def reasoned():
    """Give every ``[[field]]`` of a card what it must say of its truth, where it does not."""

    def fill(text):
        head, *fields = text.split("[[field]]")
        return "[[field]]".join([head, *map(_reasoned, fields)])

    return fill


def _reasoned(field):
    plain, _, reasons = field.partition("[field.reasons]")
    own = re.split(r"^\[", plain, maxsplit=1, flags=re.MULTILINE)[0]
    if '\nkind = "measure"\n' in own:  # a number, of which a card says other things
        return field
    claims = {"basis": "image", "visible": "yes"}
    lines = [f'{key} = "{value}"' for key, value in claims.items() if f"\n{key} = " not in own]
    missing = [f"{key} = {WHY}" for key in REASON_KEYS if f"\n{key} = " not in reasons]
    if reasons:
        reasons = "\n".join(["[field.reasons]", *missing, reasons.lstrip("\n")])
    else:
        lines.append(f"reasons = {{ {', '.join(missing)} }}")
    name = re.search(r"^name = .*$", plain, re.MULTILINE).group()
    return plain.replace(name, "\n".join([name, *lines]), 1) + reasons


@pytest.fixture
def toy_card():
    """Text of a minimal valid card."""
    return CARD


@pytest.fixture(scope="session")
def small_demo(made_once):
    """A folder with ``demo``, the demo of three sources; who changes it takes a copy."""
    return made_once("small", functools.partial(_demo, only=("bus-bra", "busi", "vindr-cxr")))


@pytest.fixture(scope="session")
def whole_demo(made_once):
    """A folder with ``demo``, the demo of all sources; who changes it takes a copy."""
    return made_once("whole", functools.partial(_demo, workers=0), traced=False)


def _demo(folder, only=None, workers=1):
    run_demo(folder / "demo", Reporter(quiet=True), only=only, workers=workers)
