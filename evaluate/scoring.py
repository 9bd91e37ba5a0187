"""Score a run: turn its attempts into outcomes and metrics; never calls a model.

Every item has exactly one outcome. Infrastructure failures (failed, missing-image) are separate
from the model's behaviour (wrong, unparsed, refused, cut), from questions not asked yet and from
chain steps that were not reached because an earlier step has no reply to build on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from medrcube.evaluate.answer_parsing.published_rule import upstream_scores
from medrcube.evaluate.benchmark_item import held_once
from medrcube.evaluate.collection_pause import collection_paused
from medrcube.evaluate.judge.prompt import Judge, read_judgements
from medrcube.evaluate.outcomes import NOT_SHOWN, Result, main_results
from medrcube.evaluate.reply_outcomes import score_replies
from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.conversations import standing_replies
from medrcube.evaluate.runner.run_folder import (
    METRICS,
    OUTCOMES,
    RESULTS,
    attempts_path,
    read_asked,
    read_manifest,
)
from medrcube.evaluate.score_files import (
    FORMS,
    UPSTREAM_METRICS,
    UPSTREAM_RESULTS,
    json_of,
    lines_of,
    outcome_row,
    result_row,
    upstream_row,
    write_parts,
)
from medrcube.evaluate.statistics.chain_metrics import chain_metrics
from medrcube.evaluate.statistics.condition_contrasts import (
    condition_contrasts,
    epochs,
    other_conditions,
)
from medrcube.evaluate.statistics.credibility import credibility
from medrcube.evaluate.statistics.form_metrics import form_metrics
from medrcube.evaluate.statistics.metrics import (
    metrics,
    replies_account,
    run_metrics,
    task_metrics,
    upstream_metrics,
)
from medrcube.evaluate.stored_scores import read_metrics, withdrawn_items
from medrcube.files.atomic import replacing

__all__ = ["is_imported", "read_by_rules", "recompute_scores", "score"]


@collection_paused()
def score(run: Path, judge: Judge | None = None) -> Mapping[str, Any]:
    """Score a run and replace all derived files together.

    No file is replaced before all are on disk, and ``metrics.json``, which contains the digest of
    the outcomes, comes last: ``read_metrics`` refuses scores that a kill left partly old.

    ``outcomes.jsonl`` has one row per presentation; ``results.jsonl``, ``metrics.json`` and
    upstream's two files have one result per item, see ``main_results``. Upstream's files have its
    format, but ``correct`` in them is by our rules; the accuracy by the published rule is in
    ``metrics.json`` under ``upstream``. There, ``strict`` is by the rules alone, ``lenient`` by the
    rules and a judge.

    Args:
        run: run folder.
        judge: judge of the replies that the rules could not parse; ``None`` scores by the rules
            alone, even if verdicts are stored.

    Returns:
        Content of ``metrics.json``.

    Raises:
        WorkspaceError: the folder is not a run, or cannot be written.
    """
    manifest = read_manifest(run)
    questions = read_asked(run)
    replies, tried = standing_replies(questions, _attempts(run))
    by_rules = score_replies(questions, replies, None if is_imported(manifest) else tried)
    results = by_rules if judge is None else judge.rescored(by_rules)
    account = _judge_unused(run) if judge is None else judge.account(by_rules)
    summary = _summary(run, results, by_rules, replies, account)
    with ExitStack() as stack:

        def write(name: str, lines: Iterable[bytes]) -> str:
            return write_parts(stack.enter_context(replacing(run / name)), lines)

        # Entered first, so replaced last.
        metrics_file = stack.enter_context(replacing(run / METRICS))
        summary["outcomes_sha256"] = write(OUTCOMES, lines_of(map(outcome_row, results)))
        for name, content in _derived(results).items():
            write(name, FORMS[name](content))
        write_parts(metrics_file, json_of(summary))
    return summary


def recompute_scores(run: Path, results: Sequence[Result]) -> Mapping[str, Any]:
    """Recompute every derived file except the outcomes; nothing is written.

    Args:
        run: run folder.
        results: results from ``read_results``; they are not judged again.

    Returns:
        JSON content by file name: rows of ``results.jsonl`` and ``results.json``, objects of
        ``metrics.json`` and ``metrics_summary.json``.

    Raises:
        WorkspaceError: the folder is not a run, or has no scores.
    """
    recorded_metrics = read_metrics(run)
    replies, _ = standing_replies(read_asked(run), _attempts(run))
    summary = {
        **_summary(run, results, read_by_rules(run), replies, recorded_metrics["judge"]),
        "outcomes_sha256": recorded_metrics["outcomes_sha256"],
    }
    # As JSON: string keys, lists for tuples.
    derived = {
        name: list(content) if isinstance(content, Iterator) else content
        for name, content in _derived(results).items()
    }
    recomputed: Mapping[str, Any] = json.loads(json.dumps({METRICS: summary, **derived}))
    return recomputed


def read_by_rules(run: Path) -> list[Result]:
    """Return the results of all presentations by the rules alone; nothing is written.

    Raises:
        WorkspaceError: the folder is not a run.
    """
    manifest, questions = read_manifest(run), read_asked(run)
    replies, tried = standing_replies(questions, _attempts(run))
    return score_replies(questions, replies, None if is_imported(manifest) else tried)


def is_imported(manifest: Mapping[str, Any]) -> bool:
    """Whether a run was imported, so that attempts without a reply are unknown."""
    return str(manifest["model"].get("adapter", "")).startswith("import/")


def _attempts(run: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the attempts of a run with the fields that scoring reads; equal values are shared."""
    counts: dict[str, Mapping[str, Any]] = {}
    for record in read_attempts(attempts_path(run)):
        fields = {name: record[name] for name in _SCORED if name in record}
        if (usage := fields.get("usage")) is not None:
            fields["usage"] = counts.setdefault(repr(usage), usage)
        for name in _OFTEN_EQUAL.intersection(fields):
            fields[name] = held_once(fields[name])
        yield fields


_SCORED = ("key", "status", "text", "finish_reason", "usage", "model", "history")
_OFTEN_EQUAL = frozenset({"status", "finish_reason", "model"})


def _summary(
    run: Path,
    results: Sequence[Result],
    by_rules: Sequence[Result],
    replies: Mapping[str, Mapping[str, Any]],
    account: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the content of ``metrics.json`` without the digest of the outcomes."""
    main, strict = main_results(results), main_results(by_rules)
    return {
        **metrics(main),
        "options": task_metrics(_with_options(main)),
        "forms": form_metrics(main),
        "strict": _brief(strict),
        "lenient": _brief(main) if account["used"] else None,
        "judge": account,
        "upstream": upstream_scores(_with_options(strict)),
        "conditions": other_conditions(results),
        "contrasts": condition_contrasts(results),
        "epochs": epochs(results),
        "credibility": credibility(main),
        "chains": chain_metrics(results, replies),
        "replies": replies_account(replies.values()),
        "withdrawn": withdrawn_items(run),
    }


def _derived(results: Sequence[Result]) -> dict[str, Any]:
    """Return the content of the files with one result per item; lists as iterators of rows."""
    main = main_results(results)
    optional = _with_options(main)
    return {
        RESULTS: map(result_row, main),
        UPSTREAM_RESULTS: map(upstream_row, (r for r in optional if r.outcome not in NOT_SHOWN)),
        UPSTREAM_METRICS: upstream_metrics(optional),
    }


def _with_options(results: Sequence[Result]) -> list[Result]:
    """Return the results of the items that the published evaluator knows."""
    return [result for result in results if result.item.target is None]


def _brief(results: Sequence[Result]) -> dict[str, Any]:
    group = run_metrics(results)
    return {name: group[name] for name in ("n", "correct", "accuracy", "accuracy_answered")}


def _judge_unused(run: Path) -> dict[str, Any]:
    return {"used": False, "kept": sum(1 for _ in read_judgements(run))}
