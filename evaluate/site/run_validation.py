"""Validate a submitted run: complete, on this release, and scored from its replies.

Nothing in the folder is trusted: its items are compared with the release, and its replies are
rescored. A folder cannot prove that the model actually gave the replies.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.console.counts import counted
from medrcube.errors import MedrcubeError, WorkspaceError
from medrcube.evaluate.dataset import Benchmark, load_benchmark
from medrcube.evaluate.errata import require_current
from medrcube.evaluate.outcomes import AnswerOutcome, Result, lost
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.prompts import prompt_version
from medrcube.evaluate.questions.settings import settings_text
from medrcube.evaluate.reporting.interval_text import lost_text
from medrcube.evaluate.reporting.markup.escaping import one_line
from medrcube.evaluate.runner.completeness import count_outside_draw, list_problems
from medrcube.evaluate.runner.run_folder import (
    ITEMS,
    METRICS,
    read_asked,
    read_json_lines,
    read_manifest,
)
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.evaluate.scoring import read_by_rules, recompute_scores
from medrcube.evaluate.site.run_digests import DIGESTS, EXPECTED, digest_mismatches, irregular_files
from medrcube.evaluate.stored_scores import read_metrics, read_results, withdrawn_items
from medrcube.vocabulary.layers import using

__all__ = ["RunCheck", "check_run"]

_LONGEST = 200
"""Maximum characters of a setting, such as a prompt, shown in a note."""

_TOLD = 5
"""Number of items listed in a problem."""

_MISSING = object()

_BAD_FORM = (KeyError, TypeError, ValueError, AttributeError, IndexError)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCheck:
    """Result of the validation.

    Attributes:
        problems: problems that exclude the run from a leaderboard.
        notes: remarks for its readers.
        summary: the run in one line; empty if there are problems.
    """

    problems: Sequence[str]
    notes: Sequence[str]
    summary: str


def check_run(run: Path, release: Path, *, sealing: bool = False) -> RunCheck:
    """Validate a run against a release.

    Args:
        run: run folder.
        release: release folder.
        sealing: whether new digests are about to be written, in which case old ones are ignored.

    Raises:
        ReleaseError: the release is invalid.
    """
    benchmark = load_benchmark(release)
    with using(benchmark.vocabulary):
        return _check_run(run, benchmark, sealing=sealing)


def _check_run(run: Path, benchmark: Benchmark, *, sealing: bool) -> RunCheck:
    problems = list(_files(run, sealing=sealing))
    if problems:
        return RunCheck(problems=problems, notes=(), summary="")
    try:
        manifest = read_manifest(run)
        problems += _manifest(manifest)
        problems += list_problems(run)
        problems += _draw_problems(run, manifest, benchmark)
        problems += _items(run, benchmark)
        problems += _errata(run, benchmark)
        scored, by_rules = read_results(run), read_by_rules(run)
        metrics = read_metrics(run)
        problems += _scores(run, scored, by_rules, metrics)
        problems += _incomplete(metrics)
        notes = [] if problems else list(_notes(run, manifest, metrics, benchmark))
        summary = "" if problems else _summary(manifest, metrics)
    except MedrcubeError as error:
        return RunCheck(problems=[*problems, str(error)], notes=(), summary="")
    except _BAD_FORM as error:
        problem = f"a file does not have the format of this version: {error!r}"
        return RunCheck(problems=[*problems, problem], notes=(), summary="")
    return RunCheck(problems=problems, notes=notes, summary=summary)


def _files(run: Path, *, sealing: bool) -> Iterator[str]:
    if not run.is_dir():
        yield f"{run} is not a folder; expected a folder that evaluate wrote"
        return
    yield from irregular_files(run)
    for name in EXPECTED:
        if not (run / name).is_file():
            yield f"{name}: is missing; run  medrcube score {run}  or send the whole folder"
    if not sealing:
        yield from digest_mismatches(run)


def _manifest(manifest: Mapping[str, Any]) -> Iterator[str]:
    expected: dict[str, tuple[type, ...]] = {
        "started": (str,),
        "ended": (str, type(None)),
        "dataset": (dict,),
        "model": (dict,),
        "prompt": (dict,),
        "conditions": (list,),
        "epochs": (int,),
        "versions": (dict,),
    }
    for name, kinds in expected.items():
        if name not in manifest or not isinstance(manifest[name], kinds):
            words = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
            yield f"manifest.json: {name} is {manifest.get(name)!r:.80}; expected {words}"
    model = manifest.get("model")
    if isinstance(model, dict) and not str(model.get("name") or "").strip():
        yield "manifest.json: model has no name"


def _items(run: Path, benchmark: Benchmark) -> Iterator[str]:
    """Report items and images of the run that differ from the release."""
    by_name = {item.name: item for item in benchmark.items}
    unknown, changed, pictures = [], [], []
    for question in read_asked(run):
        presentation = question.presentation
        if presentation.turn or presentation.condition is Condition.REWORDED:
            continue
        item = by_name.get(presentation.item.name)
        if item is None:
            unknown.append(presentation.item.name)
        elif item != presentation.item:
            changed.append(item.name)
        elif question.subject and item.image is not None:
            digest = benchmark.image_digests[item.image]
            if digest is not None and digest != question.subject:
                pictures.append(item.name)
    yield from _several(unknown, "are not in the release")
    yield from _several(changed, "differ from those of the release")
    yield from _several(pictures, "were asked with an image that differs from the release")


def _draw_problems(run: Path, manifest: Mapping[str, Any], benchmark: Benchmark) -> Iterator[str]:
    """Report a limit or item count that does not explain the items asked."""
    if manifest["dataset"]["digest"] != benchmark.digest:
        return
    stated_count, whole = manifest["dataset"]["items"], len(benchmark.items)
    if stated_count != whole:
        yield f"manifest.json: dataset.items is {stated_count!r:.80}; its release has {whole:,}"
    names = [f"{row['dataset']}/{row['id']}" for row in read_json_lines(run / ITEMS)]
    if other := count_outside_draw(manifest, names, benchmark.items):
        yield (
            f"items.jsonl: {counted(other, 'item')} of it {'is' if other == 1 else 'are'} not what "
            f"limit {manifest['limit']} draws from the release"
        )


def _errata(run: Path, benchmark: Benchmark) -> Iterator[str]:
    """Report withdrawn items that differ from the errata of the release."""
    names = {question.item.name for question in read_asked(run)}.union(
        withdrawn := withdrawn_items(run)
    )
    try:
        require_current(str(run), withdrawn, names.intersection(benchmark.errata))
    except WorkspaceError as error:
        yield str(error)


def _several(names: Sequence[str], what: str) -> Iterator[str]:
    distinct = list(dict.fromkeys(names))
    if distinct:
        more = f" and {len(distinct) - _TOLD:,} more" if len(distinct) > _TOLD else ""
        ids = ", ".join(distinct[:_TOLD])
        yield f"items.jsonl: {counted(len(distinct), 'item')} {what}: {ids}{more}"


def _scores(
    run: Path, scored: Sequence[Result], by_rules: Sequence[Result], metrics: Mapping[str, Any]
) -> Iterator[str]:
    """Report outcomes and scores that do not follow from the replies."""
    judged = bool(metrics["judge"]["used"])
    wrong = [
        there.item.name
        for there, here in zip(scored, by_rules, strict=True)
        if not _follows(there, here, judged=judged)
    ]
    if wrong:
        yield (
            f"outcomes.jsonl: {len(wrong):,} outcomes do not follow from the replies, such as of "
            f"{wrong[0]}; run  medrcube score  with this version"
        )
    yield from _further_files(run, scored, metrics)


def _further_files(
    run: Path, scored: Sequence[Result], metrics: Mapping[str, Any]
) -> Iterator[str]:
    """Report derived files that differ from a recomputation."""
    again = recompute_scores(run, scored)
    for name, expected in again.items():
        here = metrics if name == METRICS else _read(run / name)
        if here == expected:
            continue
        if isinstance(expected, list):
            names_text = _differing_row(here, expected)
        else:
            other = here if isinstance(here, dict) else {}
            names = sorted({*expected, *other})
            names_text = ", ".join(
                n for n in names if other.get(n, _MISSING) != expected.get(n, _MISSING)
            )
        yield (
            f"{name}: {names_text} do not follow from the outcomes; run  medrcube score  with this "
            "version"
        )


def _read(path: Path) -> Any:
    """Return the content of a derived file; ``None`` if it cannot be read."""
    try:
        if path.suffix == ".jsonl":
            return read_json_lines(path)
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _differing_row(here: Any, expected: Sequence[Mapping[str, Any]]) -> str:
    if not isinstance(here, list) or len(here) != len(expected):
        return f"the rows (expected {len(expected):,})"
    wrong = [there["id"] for row, there in zip(here, expected, strict=True) if row != there]
    return f"{counted(len(wrong), 'row')}, such as of {wrong[0]},"


def _incomplete(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Report too many questions without a reply for a ranking."""
    total = metrics["global"]
    if not metrics["incomplete"]:
        return
    count, replied = total["n"], total["n"] - lost(total)
    yield (
        f"incomplete: {replied:,} of {counted(count, 'question')} "
        f"{'has' if replied == 1 else 'have'} a reply ({lost_text(total)}), and at most "
        f"{100 * FAILURE_GATE:.0f} % may lack one; run the  medrcube evaluate  command of this run "
        "again to continue it;  --again failed  asks failed questions again"
    )


def _follows(there: Result, here: Result, *, judged: bool) -> bool:
    if judged and here.outcome is AnswerOutcome.UNPARSED:
        return there.reply == here.reply
    return (there.outcome, there.answer, there.reply) == (here.outcome, here.answer, here.reply)


def _notes(
    run: Path, manifest: Mapping[str, Any], metrics: Mapping[str, Any], benchmark: Benchmark
) -> Iterator[str]:
    total = metrics["global"]
    yield f"conditions: {', '.join(manifest['conditions'])}"
    for name, text in settings_text(manifest).items():
        yield f"{name}: {one_line(text, _LONGEST)}"
    if total["n"] < len(benchmark.standing):
        whole = counted(len(benchmark.standing), "item")
        yield f"asked {total['n']:,} of {whole}; shown as a sample"
    if manifest["ended"] is None:
        yield "was interrupted; run the original command again to resume it"
    if manifest["dataset"]["digest"] != benchmark.digest:
        yield "images of the run are missing from the release here, or differ"
    if manifest["prompt"].get("version") != prompt_version():
        yield "used a prompt that differs from that of this version"
    if metrics["judge"]["used"]:
        yield "a judge model read replies that the rules could not; this check does not repeat that"
    extra = itertools.islice(
        (path.name for path in sorted(run.iterdir()) if path.name not in {*EXPECTED, DIGESTS}), 20
    )
    yield f"further files: {', '.join(extra) or 'none'}"
    if not (run / DIGESTS).exists():
        yield "has no digests; --seal writes them"


def _summary(manifest: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    total = metrics["global"]
    return (
        f"{manifest['model']['name']}, {counted(total['n'], 'item')}, "
        f"{100 * total['accuracy']:.1f} % correct"
    )
