"""Settings that change the questions of a run; runs that differ in them are ranked separately."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from medrcube.console.counts import counted
from medrcube.evaluate.questions.prompts import prompt_version
from medrcube.evaluate.questions.settings import prompt_words
from medrcube.evaluate.reporting.scored_runs import ScoredRun

__all__ = ["PLAIN", "changed_settings"]

PLAIN: Mapping[str, str] = {
    "prompt": "the usual prompt",
    "system": "no system prompt",
    "shots": "no examples",
    "pictures": "whole images",
    "detail": "detail not set",
    "degradation": "images as they are",
}
"""Every setting, with its text for a default run."""


def changed_settings(run: ScoredRun) -> dict[str, str]:
    """Return settings that differ from a default run, in a few words each; empty for reviewers.

    Equal texts mean equal settings.
    """
    manifest, model = run.manifest, run.manifest["model"]
    if run.reviewers is not None:
        return {}
    prompt, shots, pixels = manifest["prompt"], manifest.get("shots"), manifest.get("pictures")
    usual = prompt["name"] == "default" and prompt["version"] == prompt_version()
    system, detail = model.get("system"), model.get("image_detail")
    seed = f" by seed {shots['seed']}" if shots and shots.get("seed") else ""
    texts = {
        "prompt": "" if usual else f"prompt {prompt_words(prompt)}",
        "system": f"system prompt {_digest(system)}" if system else "",
        "shots": f"{counted(shots['count'], 'example')}{seed}" if shots else "",
        "pictures": f"images to {pixels['longest_side']:,} px" if pixels else "",
        "detail": f"detail {detail}" if detail else "",
        "degradation": run.degradation,
    }
    return {name: words for name, words in texts.items() if words}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
