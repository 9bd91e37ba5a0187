"""Export a run as an Inspect log, for its viewer.

The format is ``inspect_ai.log.EvalLog``, version 2 (inspect_ai 0.3.285): one JSON file, or an
``.eval`` archive with one member per sample. Images are referenced by their path in the release,
never embedded; a question without a reply is logged as an error, not as a wrong answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark_item import target_text
from medrcube.evaluate.exports.inspect_log import ARCHIVE, JSON, Json, sample_id, write_log
from medrcube.evaluate.outcomes import LOST, AnswerOutcome, Result, main_results
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.prompts import Prompt, prompt_of
from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.run_folder import attempts_path, read_manifest
from medrcube.evaluate.statistics.metrics import run_metrics
from medrcube.evaluate.stored_scores import read_results

__all__ = ["SCORER", "SUFFIXES", "export_inspect"]

SCORER = "medrcube"
SUFFIXES = (JSON, ARCHIVE)

_VALUES = {AnswerOutcome.CORRECT: "C", AnswerOutcome.WRONG: "I"}
_NO_ANSWER = "N"
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}


def export_inspect(run: Path, out: Path, condition: Condition | None = None) -> int:
    """Write the log of one condition of a run.

    Args:
        run: folder of a scored run.
        out: file to write, ``.json`` or ``.eval``.
        condition: one of the run's conditions; by default the one its accuracies refer to.

    Returns:
        Number of samples.

    Raises:
        WorkspaceError: the run was never scored or did not ask the condition, the condition is
            ``chain`` or ``degraded``, the file has another suffix, or it cannot be written.
    """
    if out.suffix not in SUFFIXES:
        raise WorkspaceError(f"{out}: expected a name that ends in {' or '.join(SUFFIXES)}")
    manifest = read_manifest(run)
    everything = read_results(run)
    main = main_results(everything)
    only_condition = condition or (
        main[0].question.presentation.condition if main else Condition.FULL
    )
    if only_condition in {Condition.CHAIN, Condition.DEGRADED}:
        raise WorkspaceError(
            f"{run}: a log sample can hold neither earlier turns nor degraded images, so "
            f"{only_condition} cannot be exported; expected another condition"
        )
    results = [r for r in everything if r.question.presentation.condition is only_condition]
    if not results:
        conditions = ", ".join(manifest["conditions"])
        raise WorkspaceError(f"{run}: did not ask {only_condition}; expected one of: {conditions}")
    attempts = {a["key"]: a for a in read_attempts(attempts_path(run)) if a["status"] == "reply"}
    exporter = _Exporter(manifest=manifest, replies=attempts, prompt=prompt_of(manifest["prompt"]))
    samples = [exporter.sample(result) for result in results]
    header = exporter.header(results, only_condition)
    write_log(out, header, samples)
    return len(samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exporter:
    """Turns results into samples.

    Attributes:
        manifest: manifest of the run.
        replies: record of the last reply by question key.
        prompt: prompt template of the run; ``None`` if this version does not have it.
    """

    manifest: Mapping[str, Any]
    replies: Mapping[str, Mapping[str, Any]]
    prompt: Prompt | None

    @property
    def _model(self) -> str:
        return str(self.manifest["model"]["name"])

    def header(self, results: Sequence[Result], condition: Condition) -> Json:
        """Return the log without its samples."""
        ended = self.manifest["ended"]
        return {
            "version": 2,
            "status": "success" if ended else "cancelled",
            "eval": self._spec(results, condition),
            "plan": {"name": "plan", "steps": [{"solver": "multiple_choice"}], "config": {}},
            "results": _totals(results),
            "stats": {
                "started_at": self.manifest["started"],
                "completed_at": ended or "",
                "model_usage": self._usage(results),
            },
        }

    def sample(self, result: Result) -> Json:
        """Return the sample of one question: prompt, reply and score."""
        presentation = result.question.presentation
        record = self.replies.get(result.question.key or "", {})
        question = self._question(result)
        messages = [question]
        sample: Json = {
            "id": _sample_id(result),
            "epoch": presentation.epoch + 1,
            "input": [question],
            "choices": [text for _, text in presentation.item.options],
            "target": presentation.item.right_reply,
            "messages": messages,
            "output": {"model": self._model, "choices": [], "completion": ""},
            "scores": {},
            "metadata": _metadata(result),
            "store": {},
            "events": [],
            "model_usage": {},
            "attachments": {},
            "uuid": _short(
                f"{self.manifest['dataset']['digest']}:{_sample_id(result)}:{presentation.epoch}"
            ),
        }
        if result.outcome in LOST:
            problem = f"{result.outcome.value}: {result.rule}"
            return {
                **sample,
                "error": {"message": problem, "traceback": problem, "traceback_ansi": problem},
            }
        reply = {"role": "assistant", "content": result.reply or "", "model": self._model}
        messages.append({**reply, "source": "generate"})
        sample["output"] = self._output(messages[-1], record)
        if record.get("usage"):
            sample["model_usage"] = {self._model: _usage(record["usage"])}
        sample["scores"] = {SCORER: _score(result)}
        if record.get("latency") is not None:
            sample |= {"total_time": record["latency"], "working_time": record["latency"]}
        return sample

    def _spec(self, results: Sequence[Result], condition: Condition) -> Json:
        manifest = self.manifest
        digest = manifest["dataset"]["digest"]
        ids = list(dict.fromkeys(map(_sample_id, results)))
        name = _short(json.dumps([digest, manifest["model"], manifest["started"], condition]))
        config = {
            key: manifest["model"][key]
            for key in ("temperature", "max_tokens", "seed")
            if isinstance(manifest["model"].get(key), int | float)
        }
        return {
            "eval_id": name,
            "run_id": name,
            "created": manifest["started"],
            "task": f"medrcube_{condition.value}",
            "task_id": _short(digest),
            "task_version": 0,
            "dataset": {
                "name": f"medrcube {digest[:12]}",
                "samples": len(ids),
                "sample_ids": ids,
                "shuffled": False,
            },
            "model": self._model,
            "model_generate_config": config,
            "config": {"epochs": max(r.question.presentation.epoch for r in results) + 1},
            "packages": manifest["versions"],
            "metadata": {
                "benchmark_sha256": digest,
                "prompt": manifest["prompt"],
                "condition": condition.value,
                "model": dict(manifest["model"]),
            },
            "scorers": [{"name": SCORER}],
        }

    def _question(self, result: Result) -> Json:
        presentation = result.question.presentation
        content: list[Json] = [{"type": "text", "text": self._prompt(result)}]
        if presentation.image is not None:
            content.insert(0, {"type": "image", "image": presentation.image})
        return {"role": "user", "content": content, "source": "input"}

    def _prompt(self, result: Result) -> str:
        if self.prompt is not None:
            return self.prompt.render(result.item)
        options = (f"{letter}. {text}" for letter, text in result.item.options)
        return "\n".join((result.item.question, *options))

    def _output(self, message: Json, record: Mapping[str, Any]) -> Json:
        stop = _STOPS.get(record.get("finish_reason", ""), "unknown")
        output = {
            "model": record.get("model", self._model),
            "choices": [{"message": message, "stop_reason": stop}],
            "completion": message["content"],
        }
        if record.get("usage"):
            output["usage"] = _usage(record["usage"])
        if record.get("latency") is not None:
            output["time"] = record["latency"]
        return output

    def _usage(self, results: Iterable[Result]) -> Json:
        keys = dict.fromkeys(result.question.key for result in results)
        usages = [self.replies[key]["usage"] for key in keys if key and key in self.replies]
        if not any(usages):
            return {}
        parts = [_usage(usage) for usage in usages]
        return {self._model: {name: sum(part[name] for part in parts) for name in parts[0]}}


def _totals(results: Sequence[Result]) -> Json:
    scored = [result for result in results if result.outcome not in LOST]
    right = sum(result.outcome is AnswerOutcome.CORRECT for result in scored)
    metrics = {"accuracy": right / len(scored)} if scored else {}
    total = run_metrics(results)
    if total["accuracy"] is not None:
        metrics["accuracy_of_all"] = total["accuracy"]
    return {
        "total_samples": len(results),
        "completed_samples": len(scored),
        "scores": [
            {
                "name": SCORER,
                "scorer": SCORER,
                "scored_samples": len(scored),
                "unscored_samples": len(results) - len(scored),
                "metrics": {
                    name: {"name": name, "value": value} for name, value in metrics.items()
                },
            }
        ],
    }


def _score(result: Result) -> Json:
    return {
        "value": _VALUES.get(result.outcome, _NO_ANSWER),
        "answer": result.answer,
        "explanation": f"{result.outcome.value}, by the rule {result.rule}",
        "metadata": {"outcome": result.outcome.value, "rule": result.rule},
    }


def _metadata(result: Result) -> Json:
    item, presentation = result.item, result.question.presentation
    return {
        "dataset": item.dataset,
        "task": item.task.value,
        "modality": item.modality.value,
        "parts": item.parts.value,
        "condition": presentation.condition.value,
        "turn": presentation.turn,
        "outcome": result.outcome.value,
        "image_sha256": result.question.image_sha256,
        "restricted": item.restricted,
        **({"form": item.form, "target": target_text(item)} if item.target else {}),
    }


def _usage(usage: Mapping[str, int]) -> dict[str, int]:
    tokens_in, tokens_out = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    total = usage.get("total_tokens", tokens_in + tokens_out)
    return {"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": total}


def _sample_id(result: Result) -> str:
    turn = result.question.presentation.turn
    name = sample_id(result.item.name)
    return f"{name} turn {turn}" if turn else name


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:22]
