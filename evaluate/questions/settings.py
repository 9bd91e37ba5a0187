"""Settings of a run in words: only those changed by an option."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from medrcube.evaluate.questions.degradation import Degradation

__all__ = ["prompt_words", "selection_text", "settings_text", "side_by_side"]

_ENDED = {"truncated": "cut"}
"""Names of outcomes before version 5 of the metrics."""

_LEFT_OUT = {"not-there": "without their image", "may-not-be-sent": "that may not be sent"}


def settings_text(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return settings of a run in words, by name; identical for a killed and resumed run.

    Args:
        manifest: manifest of the run.
    """
    model = manifest["model"]
    prompt = manifest["prompt"]
    texts = {
        "prompt": prompt_words(prompt),
        "template": prompt.get("text"),
        "system prompt": model.get("system"),
        "examples": _examples(manifest),
        "examples come": _places(manifest),
        "image size": _pixels(manifest),
        "image detail": model.get("image_detail"),
        "images of condition degraded": _degradation(manifest),
        "items": _items(manifest),
        "sent by permission": ", ".join(manifest.get("may_send", ())),
        "asked again": "; ".join(map(_again, manifest.get("again", ()))),
    }
    return {name: str(text) for name, text in texts.items() if text}


def prompt_words(prompt: Mapping[str, Any]) -> str:
    """Return name and version of the prompt in a manifest, or the tool that worded it."""
    return " ".join(filter(None, (prompt["name"], prompt["version"])))


def side_by_side(manifests: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return (name, value of each run) of all settings in which runs differ."""
    settings = [settings_text(manifest) for manifest in manifests]
    names = dict.fromkeys(name for texts in settings for name in texts if name != "template")
    rows = [(name, *(texts.get(name, "") for texts in settings)) for name in names]
    return [row for row in rows if len(set(row[1:])) > 1]


def _examples(manifest: Mapping[str, Any]) -> str:
    shots = manifest.get("shots")
    if not shots:
        return ""
    apart = {
        "unit and look": "of other patients or cases, and of dissimilar images",
        "look alone": "of dissimilar images (the release does not state every patient)",
    }[shots["apart_by"]]
    many = "" if shots["count"] == 1 else "s"
    return f"{shots['count']} solved example{many}, seed {shots['seed']}, {apart}"


def _places(manifest: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{count:,} from {'the same ' if place != 'another task' else ''}{place}"
        for place, count in (manifest.get("examples_from") or {}).items()
    )


def _pixels(manifest: Mapping[str, Any]) -> str:
    pixels = manifest.get("pictures")
    return f"at most {pixels['longest_side']:,} pixels a side ({pixels['rule']})" if pixels else ""


def _degradation(manifest: Mapping[str, Any]) -> str:
    record = manifest.get("degradation")
    return f"{Degradation.of_manifest(record).words} ({record['rule']})" if record else ""


def _items(manifest: Mapping[str, Any]) -> str:
    selection, whole = manifest.get("selection"), manifest["dataset"]["items"]
    if selection is None:
        return ""
    reasons = "".join(
        f"; left out {count:,} {_LEFT_OUT.get(why, why)}"
        for why, count in selection["left_out"].items()
    )
    return f"{selection['items']:,} chosen of {whole:,}{reasons}"


def selection_text(manifest: Mapping[str, Any]) -> str:
    """Describe the selection of a run: how many items, and what was left out and why."""
    selection, whole = manifest.get("selection"), manifest["dataset"]["items"]
    if selection is None:
        return f"all {whole:,} items"
    sources = ", ".join(selection.get("by_source", ()))
    text = _items(manifest)
    return f"{text} (of {sources}; see --i-may-send)" if sources else text


def _again(once: Mapping[str, Any]) -> str:
    ended: Iterable[str] = once["ended"]
    limits = (once.get("parameters") or {}).items()
    longest = next((value for name, value in limits if "max_" in name and "tokens" in name), None)
    limit_text = f", with replies up to {longest:,} tokens" if isinstance(longest, int) else ""
    many = "" if once["questions"] == 1 else "s"
    names = " or ".join(_ENDED.get(end, end) for end in ended)
    return f"{once['questions']:,} question{many} ({names}){limit_text}"
