"""Export of decisions under pseudonyms, and of the verdicts that a release uses.

Names and e-mail addresses are never written. The export reads a consistent snapshot: a review that
is submitted meanwhile is in all files or in none.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from django.db.models import F, Manager

from medrcube.build.release.review_verdicts import LET_THROUGH, SCHEMA, SUMMARY, VERDICTS
from medrcube.files.atomic import PRIVATE, private_folder, write_text
from medrcube.review.assigning import specialist_rule
from medrcube.review.audit_trail import event_chain, replay
from medrcube.review.errors import ReviewError
from medrcube.review.models import (
    Adjudication,
    BlindAnswer,
    Event,
    Item,
    ItemVersion,
    Project,
    Proposal,
    Review,
    ReviewReason,
)
from medrcube.review.quality.agreement_gate import StratumAgreement, agreement_by_stratum
from medrcube.review.reviewing.policy import current_policy
from medrcube.review.reviewing.questionnaire import Reason
from medrcube.review.reviewing.sql.batches import batches
from medrcube.review.reviewing.sql.cursor import read_snapshot
from medrcube.review.reviewing.state_machine import ReviewState

__all__ = [
    "Kind",
    "Row",
    "VerdictSummary",
    "export_decisions",
    "spreadsheet_safe",
    "write_verdicts",
]

Kind = Literal["csv", "jsonl"]
Row = dict[str, Any]

_RUNS_AS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_AT_ONCE = 2000
_DEAD = (ReviewState.QUARANTINED, ReviewState.REJECTED, ReviewState.WITHDRAWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictSummary:
    """Summary of the verdicts written to the workspace.

    Attributes:
        items: number of items without gold items.
        accepted: number of items that a release may include.
        states: state -> number of items.
        strata: verdict of the release gate, in words -> strata with a review.
        head: head of the trail at that time.
    """

    items: int
    accepted: int
    states: Mapping[str, int]
    strata: Mapping[str, int]
    head: event_chain.ChainHead


def export_decisions(out: Path, kind: Kind) -> dict[str, int]:
    """Write reviews, blind answers, reasons and adjudications, each to its own file.

    Returns:
        File name -> number of rows.

    Raises:
        WorkspaceError: the folder cannot be written.
    """
    with read_snapshot():
        tables = {name: list(_rows(name)) for name in _FIELDS}
    private_folder(out)
    for name, rows in tables.items():
        text = _as_csv(rows, _COLUMNS[name]) if kind == "csv" else _as_jsonl(rows)
        write_text(out / f"{name}.{kind}", text, mode=PRIVATE)
    return {f"{name}.{kind}": len(rows) for name, rows in tables.items()}


def write_verdicts(workspace: Path) -> VerdictSummary:
    """Write the input of a release: the verdict on every item, and a summary with its digest.

    Raises:
        ReviewError: the event chain is broken, or it contradicts the tables, so that no verdict can
            be trusted.
        WorkspaceError: the workspace cannot be written.
    """
    with read_snapshot():
        head = event_chain.chain_head()
        rows = [*_verdicts()]
        held_samples = _held_samples()
        everything, parts = agreement_by_stratum()
        project = Project.objects.earliest("pk")
        policy = current_policy().to_json()
        fault = replay.verify_in_snapshot(head).fault
        short = specialist_rule.short_of_specialists(current_policy(), ReviewState.ACCEPTED)
    if fault:
        raise ReviewError(
            f"the trail is damaged: {fault}; nothing was written. Compare it with a backup, and "
            "find out who could write to the database"
        )
    if short:
        raise ReviewError(
            f"{len(short)} accepted items have fewer than {policy['specialists']} reviews by "
            "specialists; nothing was written. Reopen them, or set the rule again:  "
            "medrcube review policy --set specialists=N"
        )
    data = _as_jsonl(rows)
    states = Counter(str(row["state"]) for row in rows)
    strata: dict[str, Counter[str]] = {}
    for row in rows:
        strata.setdefault(str(row["stratum"]), Counter())[str(row["state"])] += 1
    summary = {
        "schema": SCHEMA,
        "project": project.name,
        "questionnaire": project.questionnaire,
        "policy": policy,
        "head": asdict(head),
        "accepted": {"file": VERDICTS, "sha256": sha256(data.encode()).hexdigest()},
        "held_samples": held_samples,
        "coverage": {
            "items": len(rows),
            "states": dict(sorted(states.items())),
            "strata": {
                name: dict(sorted(counts.items())) for name, counts in sorted(strata.items())
            },
        },
        "agreement": {
            "all": _agreement_row(everything),
            "strata": [_agreement_row(agreement) for agreement in parts],
        },
    }
    write_text(workspace / VERDICTS, data, mode=PRIVATE)
    # Written last: as long as the digest differs, a release rejects both files.
    text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
    write_text(workspace / SUMMARY, text, mode=PRIVATE)
    return VerdictSummary(
        items=len(rows),
        accepted=sum(states[state] for state in LET_THROUGH),
        states=dict(sorted(states.items())),
        strata=Counter(agreement.verdict.words for agreement in parts),
        head=head,
    )


def spreadsheet_safe(value: object) -> object:
    """Quote text that a spreadsheet would execute as a formula."""
    if isinstance(value, str) and value.startswith(_RUNS_AS_FORMULA):
        return f"'{value}"
    return value


def _as_jsonl(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)


def _as_csv(rows: Iterable[Row], columns: Sequence[str]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        values = (row[column] for column in columns)
        writer.writerow([spreadsheet_safe(_csv_value(value)) for value in values])
    return text.getvalue()


def _csv_value(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value


_OF_VERSION = {
    "item": "version__item_id",
    "version": "version__number",
    "content_sha256": "version__content_sha256",
    "stratum": "version__item__stratum",
    "gold_defect": "version__item__gold_defect",
}
_REVIEWER = {"claim": "claim_id", "reviewer": "claim__user__pseudonym"}
_FIELDS: dict[str, dict[str, str]] = {
    "reviews": {
        **_REVIEWER,
        **{name: f"claim__{path}" for name, path in _OF_VERSION.items()},
        "void_because": "claim__outcome",
        "blinded": "claim__blinded",
        "specialist": "claim__specialist",
        "answer": "claim__blind__option",
        "value": "claim__blind__value",
        "key": "claim__version__key",
        "confidence": "claim__blind__confidence",
        "decision": "decision",
        "checklist": "checklist",
        "verdicts": "verdicts",
        "comment": "comment",
        "seconds": "seconds",
        "submitted_at": "submitted_at",
    },
    "blind_answers": {
        **_REVIEWER,
        **{name: f"claim__{path}" for name, path in _OF_VERSION.items()},
        "blinded": "claim__blinded",
        "answer": "option",
        "value": "value",
        "confidence": "confidence",
        "needs_image": "needs_image",
        "image_adequate": "image_adequate",
        "milliseconds": "milliseconds",
        "answered_at": "answered_at",
    },
    "reasons": {
        "claim": "review__claim_id",
        "reviewer": "review__claim__user__pseudonym",
        "item": "review__claim__version__item_id",
        "version": "review__claim__version__number",
        "code": "code",
        "option": "option",
    },
    "proposals": {
        "claim": "review__claim_id",
        "reviewer": "review__claim__user__pseudonym",
        **{name: f"review__claim__{path}" for name, path in _OF_VERSION.items()},
        "question": "question",
        "options": "options",
        "key": "key",
        "flaws": "flaws",
    },
    "adjudications": {
        **_OF_VERSION,
        "adjudicator": "adjudicator__pseudonym",
        "outcome": "outcome",
        "rationale": "rationale",
        "decided_at": "decided_at",
    },
}
"""Table -> column -> model lookup. ``void_because``: why a review no longer counts, or empty."""
_TABLES: dict[str, Manager[Any]] = {
    "reviews": Review.objects,
    "blind_answers": BlindAnswer.objects,
    "reasons": ReviewReason.objects,
    "proposals": Proposal.objects,
    "adjudications": Adjudication.objects,
}
_COLUMNS = {
    name: (*fields, "answer_is_key") if name == "reviews" else tuple(fields)
    for name, fields in _FIELDS.items()
}


def _rows(name: str) -> Iterator[Row]:
    fields = _FIELDS[name]
    values = _TABLES[name].order_by("pk").values_list(*fields.values())
    for values_of_row in values.iterator(chunk_size=_AT_ONCE):
        row = {
            column: value.isoformat() if column.endswith("_at") else value
            for column, value in zip(fields, values_of_row, strict=True)
        }
        yield {**row, "answer_is_key": row["answer"] == row["key"]} if name == "reviews" else row


def _verdicts() -> Iterator[Row]:
    """Yield the verdict on the current version of every real item."""
    imported = dict(
        ItemVersion.objects.filter(author=None, item__gold_defect="")
        .order_by("number")
        .values_list("item_id", "provenance__fingerprint")
    )
    reviewers = _reviewers_and_adjudicators()
    versions = ItemVersion.objects.filter(number=F("item__version"), item__gold_defect="")
    for version in versions.select_related("item").order_by("item_id").iterator(_AT_ONCE):
        item = version.item
        yield {
            "id": item.pk,
            "state": item.state,
            "stratum": item.stratum,
            "version": version.number,
            "edited": version.author_id is not None,
            "question": version.question,
            "options": version.options,
            "key": version.key,
            "warnings": version.warnings,
            "content_sha256": version.content_sha256,
            "fingerprint": imported.get(item.pk) or "",
            "reviews": item.reviews,
            "reviewers": len(reviewers.get(version.pk, ())),
        }


def _reviewers_and_adjudicators() -> dict[int, set[int]]:
    """Map each version to the users who reviewed or adjudicated it."""
    people: dict[int, set[int]] = {}
    reviewed = Review.objects.filter(claim__released_at=None)
    pairs = [
        *reviewed.values_list("claim__version_id", "claim__user_id"),
        *Adjudication.objects.values_list("version_id", "adjudicator_id"),
    ]
    for version, user in pairs:
        people.setdefault(version, set()).add(user)
    return people


def _held_samples() -> list[str]:
    """Return images of items that left the queue because they may identify the patient.

    Gold items are included, because their image is that of another item. Images that a manager has
    cleared are not.
    """
    events = Event.objects.filter(kind="item.danger_seen")
    names = {
        str(event.object).partition(":")[2]
        for event in events.iterator()
        if Reason.PHI in json.loads(event.body).get("reasons", ())
    }
    dead = Item.objects.filter(state__in=_DEAD).values_list("id", flat=True)
    samples: set[str] = set()
    for part in batches(sorted(names & set(dead))):
        versions = ItemVersion.objects.filter(item_id__in=part)
        samples |= set(versions.values_list("provenance__sample", flat=True))
    return sorted(sample for sample in samples if sample)


def _agreement_row(agreement: StratumAgreement) -> Row:
    return {
        "stratum": agreement.stratum,
        "reviewers": len(agreement.raters),
        "estimates": {name: asdict(value) for name, value in agreement.estimates.items()},
        "pairs": agreement.pairs.tolist(),
        "may_be_released": agreement.verdict.passed,
        "conditions": [asdict(condition) for condition in agreement.verdict.conditions],
    }
