"""Run the tests of a part on a copy of the package in which one module has a change.

One process imports the package and collects the tests. A fork of it runs all tests and traces which
execute which lines. Then a fork for each mutant gives the functions of its module the changed code
and runs the tests that execute the changed lines. Where these lines run at import, the tests run
again in a process that imports them changed, unless one has failed.
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.util
import json
import math
import os
import resource
import shutil
import signal
import sys
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType

import coverage
import pytest
from mutants import Mutant

__all__ = ["CHECKOUT", "Bench", "Part"]

CHECKOUT = Path(__file__).resolve().parent.parent
_PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
_FOLDERS = tuple(_PROJECT["tool"]["setuptools"]["package-dir"].values())
"""Folders that the package is mapped over, besides its own."""
_LIBRARIES = ("django.test", "numpy", "pandas", "PIL.Image", "pyarrow.parquet", "pydantic", "typer")
_COMMAND = "command"
"""In the names of tests and fixtures that run the command line: it has a process of its own, where
no mutant is traced."""
_ALL_TESTS = ""
"""Context of lines that run in a fixture of several tests."""
_TICK = 0.05
"""Seconds between two looks at a run."""
_FIXTURES = 30
"""Seconds of processor time that shared fixtures may take."""
_WAITING = 900
"""Seconds after which a run ends that uses no processor time."""


@dataclass(frozen=True, slots=True)
class Part:
    """Modules, and the tests that have to notice a fault in them; both relative to the checkout."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


class Bench:
    """A copy of the package in which one module at a time is replaced, and a runner of tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._package = folder / "medrcube"
        self._terminal = os.dup(2)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / "medrcube", self._package, ignore=ignored)
        for name in _FOLDERS:
            shutil.copytree(CHECKOUT / name, self._package / name, ignore=ignored)
        sys.dont_write_bytecode = False  # each process would compile the package again
        sys.pycache_prefix = str(folder / "bytecode")
        os.environ.update(
            PYTHONPATH=str(folder),
            PYTHONSAFEPATH="1",  # not the package of the checkout
            PYTHONPYCACHEPREFIX=sys.pycache_prefix,
            CI="true",
        )
        for name in _LIBRARIES:
            importlib.import_module(name)

    def survivors(self, part: Part, mutants: Sequence[Mutant]) -> list[Mutant]:
        """The mutants with which every test of the part passes.

        Raises:
            RuntimeError: a test fails without any mutant.
        """
        log = self._folder / "log"
        record = self._folder / "record.json"
        status = _forked(lambda: self._pytest(part.tests, _Rounds(self, mutants, record)), log)
        if status != 0:
            raise RuntimeError(log.read_text(encoding="utf-8")[-4000:])
        rounds = json.loads(record.read_text(encoding="utf-8"))
        return [
            mutants[int(number)]
            for number, reached in rounds["alive"].items()
            if self._survives(
                mutants[int(number)],
                list(dict.fromkeys([*reached, *rounds["tests"]])),
                rounds["limit"],
            )
        ]

    def _survives(self, mutant: Mutant, tests: list[str], limit: float) -> bool:
        """Whether the tests pass in a process that imports the module with its change."""
        files = list(dict.fromkeys(map(_file, tests)))
        with self.replaced(mutant):
            work = partial(self._pytest, files, _Selection(tests))
            return _forked(work, self._folder / "log", limit) == 0

    @contextmanager
    def replaced(self, mutant: Mutant) -> Iterator[None]:
        """The copy with a mutant in it."""
        path = self.path(mutant.module)
        source = path.read_text(encoding="utf-8")
        try:
            _write(path, ast.unparse(mutant.tree(source)))
            yield
        finally:
            _write(path, source)

    def tell(self, sign: str) -> None:
        """Show the progress, also from a fork whose output goes to a log."""
        os.write(self._terminal, sign.encode())

    def path(self, module: str) -> Path:
        """Path of a module in the copy."""
        return self._package / module.removeprefix("medrcube/")

    def _pytest(self, paths: Sequence[str], plugin: object) -> int:
        os.chdir(CHECKOUT)
        sys.path[0] = str(self._folder)
        options = ["-q", "-x", "-n0", "-p", "no:cacheprovider", "-m", "not thorough"]
        options.append(f"--basetemp={self._folder / 'tests'}")
        return int(pytest.main([*options, *paths], plugins=[plugin]))


class _Selection:
    """Plugin of pytest that runs the given tests alone, in the given order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._rank = {name: rank for rank, name in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._rank]
        items.sort(key=lambda item: self._rank[item.nodeid])


class _Rounds:
    """Plugin of pytest that, instead of the tests once, runs them in a fork for each mutant.

    The record tells which mutants are alive after that, and which tests reach each: a new process
    has to run all tests with them, these first. Code that ran at import has done so without the
    change, and of all tests that rest on a cached value only the first executes the lines that
    make it.
    """

    def __init__(self, bench: Bench, mutants: Sequence[Mutant], record: Path) -> None:
        self._bench = bench
        self._mutants = mutants
        self._record = record

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.items = [item for item in session.items if not _runs_command(item)]
        modules = dict.fromkeys(mutant.module for mutant in self._mutants)
        traced = self._record.with_name("trace.json")
        log = self._record.with_name("log")
        before = _processor_time()
        tracer = _Tracer({module: str(self._bench.path(module)) for module in modules}, traced)
        if _forked(lambda: tracer.run(session), log) != 0:
            raise pytest.UsageError(log.read_text(encoding="utf-8")[-4000:])
        limit = 4 * (_processor_time() - before) + 20
        durations, tests_of = json.loads(traced.read_text(encoding="utf-8"))
        items = {item.nodeid: item for item in session.items}
        functions = _functions()
        if missing := [name for name in modules if not functions.get(str(self._bench.path(name)))]:
            raise pytest.UsageError(
                f"the process has no function of {', '.join(missing)}; expected the modules of all "
                "mutants to be imported from the copy of the package"
            )
        failures: Counter[str] = Counter()
        """How often each test has failed; it comes first next time."""
        failed = self._record.with_name("failed")
        alive: dict[int, list[str]] = {}
        for number, mutant in enumerate(self._mutants):
            tests = _reached(mutant, durations, tests_of)
            tests.sort(key=lambda name: -failures[name])
            selection = [items[name] for name in tests]
            work = partial(self._tested, session, mutant, selection, functions, durations)
            with self._bench.replaced(mutant):
                lives = mutant.at_import or _forked(work, log) == 0
            if lives:
                alive[number] = tests
            if failed.exists():
                failures[failed.read_text(encoding="utf-8")] += 1
                failed.unlink()
            self._bench.tell("?" if lives else ".")
        quickest = sorted(durations, key=durations.__getitem__)
        record = {"limit": limit, "alive": alive, "tests": quickest}
        self._record.write_text(json.dumps(record), encoding="utf-8")
        return True

    def _tested(
        self,
        session: pytest.Session,
        mutant: Mutant,
        items: list[pytest.Item],
        functions: Mapping[str, Sequence[FunctionType]],
        seconds: Mapping[str, float],
    ) -> int:
        """1 if a test fails in this process, whose functions get the mutant's code, else 0."""
        path = self._bench.path(mutant.module)
        source = (CHECKOUT / mutant.module).read_text(encoding="utf-8")
        code = dict(_nested(compile(mutant.tree(source), str(path), "exec", dont_inherit=True)))
        for function in functions.get(str(path), ()):
            function.__code__ = code.get(_key(function.__code__), function.__code__)
        failing = _run(session, items, seconds)
        if failing is not None:
            self._record.with_name("failed").write_text(failing.nodeid, encoding="utf-8")
        return failing is not None


class _Tracer:
    """A run of all tests that records which test executes which lines of the modules."""

    def __init__(self, paths: Mapping[str, str], record: Path) -> None:
        self._paths = paths
        self._record = record
        self._durations: dict[str, float] = {}
        self._test = _ALL_TESTS
        self._coverage = _coverage(paths.values())

    def run(self, session: pytest.Session) -> int:
        """1 if a test fails, else 0."""
        session.config.pluginmanager.register(self)
        self._coverage.start()
        failing = _run(session, session.items)
        self._coverage.stop()
        data = self._coverage.get_data()
        lines = {name: data.contexts_by_lineno(path) for name, path in self._paths.items()}
        self._record.write_text(json.dumps([self._durations, lines]), encoding="utf-8")
        return failing is not None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        began = time.process_time()
        self._test = item.nodeid
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context(_ALL_TESTS)
            self._durations[item.nodeid] = time.process_time() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        shared = fixturedef.scope != "function"
        if shared:
            self._coverage.switch_context(_ALL_TESTS)
        try:
            return (yield)
        finally:
            if shared:
                self._coverage.switch_context(self._test)


def _runs_command(item: pytest.Item) -> bool:
    return any(_COMMAND in name for name in (item.nodeid, *getattr(item, "fixturenames", ())))


def _coverage(paths: Iterable[str]) -> coverage.Coverage:
    return coverage.Coverage(data_file=None, include=list(paths), config_file=False, messages=False)


def _run(
    session: pytest.Session, items: list[pytest.Item], seconds: Mapping[str, float] | None = None
) -> pytest.Item | None:
    """The first test that fails, if any.

    The process is killed in a test that takes four times its usual ``seconds`` of processor time,
    besides what shared fixtures may take.
    """
    for place, item in enumerate(items, start=1):
        following = items[place] if place < len(items) else None
        if seconds is not None:
            most = time.process_time() + 4 * seconds.get(item.nodeid, 0) + _FIXTURES
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(most), resource.RLIM_INFINITY))
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            session._setupstate.teardown_exact(None)  # noqa: SLF001  (servers of shared fixtures)
            return item
    return None


def _reached(
    mutant: Mutant, durations: dict[str, float], tests_of: dict[str, dict[str, list[str]]]
) -> list[str]:
    """Tests that execute the lines of a mutant; slow ones last, else file by file.

    All tests, if something that several of them share executes the lines.
    """
    of_line = tests_of.get(mutant.module, {})
    names = {name for line in mutant.lines for name in of_line.get(str(line), ())}
    if names == {_ALL_TESTS} or (mutant.at_import and not names):
        names = set(durations)
    names.discard(_ALL_TESTS)
    files: dict[str, float] = {}
    for name in names:
        files[_file(name)] = files.get(_file(name), 0) + durations[name]
    slow = sum(durations.values()) / 100

    def rank(name: str) -> tuple[bool, float, str, float]:
        return durations[name] > slow, files[_file(name)], _file(name), durations[name]

    return sorted(names, key=rank)


def _functions() -> dict[str, list[FunctionType]]:
    """Every function of the process, by the file of its code."""
    gc.unfreeze()  # tests/conftest.py freezes all objects, which get_objects() then leaves out
    functions: dict[str, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType:
            functions.setdefault(thing.__code__.co_filename, []).append(thing)
    return functions


def _nested(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    yield _key(code), code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def _forked(work: Callable[[], int], log: Path, limit: float | None = None) -> int:
    """Exit status of some work in a fork.

    It ends after ``limit`` seconds of processor time; time in which the machine does other work
    does not count.
    """
    pid = os.fork()
    if pid == 0:
        _work_and_exit(work, log, limit)
    try:
        return os.waitstatus_to_exitcode(_status(pid))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _work_and_exit(work: Callable[[], int], log: Path, limit: float | None) -> None:
    """The whole life of a fork: its output goes to the log."""
    status = 1
    try:
        os.setsid()
        with log.open("w", encoding="utf-8") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        if limit is not None:
            seconds = math.ceil(limit)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        status = work()
    except BaseException:  # noqa: BLE001  (nothing of a fork may go on in the code of its parent)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _status(pid: int) -> int:
    """Exit status of a fork; one that waits for ever is killed."""
    waited = 0.0
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if waited > _WAITING:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(_TICK)
        waited += _TICK


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _file(test: str) -> str:
    return test.split("::", 1)[0]
