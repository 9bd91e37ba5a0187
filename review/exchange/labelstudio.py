"""Label Studio: export of tasks, and import of annotations as reviews.

Label Studio sends complete tasks to the browser, so a task never contains the key, the provenance,
or anything from which they could be derived: reviewers there answer and judge without the key. An
annotation becomes a review in the same way as on the queue's own pages (claim, blind answer,
decision) and is rejected for the same reasons.

Formats: labelstud.io/guide/tasks (tasks), /guide/export (raw JSON), /tags/choices and
/tags/textarea (results).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from django.db.models import F

from medrcube.errors import MedrcubeError, WorkspaceError
from medrcube.files.atomic import private_folder, write_bytes, write_text
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.exchange import image_store
from medrcube.review.models import Disclosure, ItemVersion, Role, User
from medrcube.review.reviewing.external_reviews import import_review
from medrcube.review.reviewing.questionnaire import CHECKLIST, Decision, NeedsImage, Reason
from medrcube.review.reviewing.state_machine import ReviewState
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission

__all__ = [
    "CANNOT_TELL",
    "CONFIG",
    "LOCAL_FILES",
    "PICTURES",
    "TASKS",
    "AnnotationImport",
    "RejectedAnnotation",
    "TaskExport",
    "export_labelstudio_tasks",
    "import_labelstudio_annotations",
    "labelling_config",
]

TASKS, CONFIG, PICTURES = "tasks.json", "config.xml", "pictures"
CANNOT_TELL = "Cannot tell"
LOCAL_FILES = "/data/local-files/?d="
"""URL path under which Label Studio serves local files, if its administrator enables it."""

_LETTERS = "ABCD"
_SAYS = {"yes": True, "no": False, "cannot tell": None}
# The key is not shown, so it is not asked about.
_LINES = tuple(line for line in CHECKLIST if line.name != "key_correct")
_REASONS = tuple(reason for reason in Reason if reason is not Reason.KEY_WRONG)
_MOST_BYTES = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskExport:
    """Number of tasks and images written.

    Attributes:
        disclosing: number of items omitted because the question of another task reveals their key,
            or vice versa.
        without_options: number of items omitted because their answer is not an option, which the
            labelling interface does not support.
    """

    tasks: int
    pictures: int
    disclosing: int
    without_options: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedAnnotation:
    """An annotation that was not imported, with the reason."""

    annotation: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationImport:
    """Result of an import of annotations."""

    reviews: int
    refused: tuple[RejectedAnnotation, ...]


def export_labelstudio_tasks(
    out: Path, *, prefix: str = "medrcube", limit: int | None = None
) -> TaskExport:
    """Write ``tasks.json``, ``config.xml`` and the images of all items that need reviews.

    Gold items are not exported: everybody sees all tasks in Label Studio, so a copy next to its
    original would be noticed. Of items whose question reveals the key of another, only the first in
    queue order is written.

    Args:
        out: output folder; a new one is accessible to its owner only.
        prefix: folder of the images below the one that Label Studio serves.
        limit: maximum number of items, in queue order.

    Raises:
        WorkspaceError: the folder cannot be written.
    """
    waiting = ItemVersion.objects.filter(
        number=F("item__version"), item__state=ReviewState.QUEUED, item__gold_defect=""
    )
    without_options = waiting.filter(target__isnull=False).count()
    rows = waiting.filter(target__isnull=True).select_related("item", "picture", "overlay")
    ordered = rows.order_by("-item__reviews", "-item__priority", "item__lot")
    version_ids, disclosing = _independent_versions(ordered.values_list("pk", "item_id"), limit)
    if not out.exists():
        private_folder(out)
    tasks, pictures = [], set()
    for version in (version for version in ordered.iterator() if version.pk in version_ids):
        image = (version.asks_mark and version.overlay) or version.picture
        if image.pk not in pictures:
            write_bytes(out / PICTURES / f"{image.pk}.png", image_store.load_image(image))
            pictures.add(image.pk)
        where = f"{LOCAL_FILES}{prefix.strip('/')}/{PICTURES}/{image.pk}.png"
        tasks.append({"data": _task(version, where)})
    write_text(out / CONFIG, labelling_config())
    write_text(out / TASKS, json.dumps(tasks, indent=1, ensure_ascii=False) + "\n")
    return TaskExport(
        tasks=len(tasks),
        pictures=len(pictures),
        disclosing=disclosing,
        without_options=without_options,
    )


def labelling_config() -> str:
    """Return the labelling interface: the questions of the queue that do not need the key."""
    view = ET.Element("View")
    ET.SubElement(view, "Image", name="image", value="$image", zoom="true", zoomControl="true")
    ET.SubElement(view, "Text", name="question", value="$question")
    ET.SubElement(
        view,
        "Choices",
        name="answer",
        toName="image",
        value="$options",
        choice="single-radio",
        required="true",
    )
    _choices(view, "confidence", "How sure are you?", ("1", "2", "3"))
    _choices(view, "needs_image", "Does the question need the image?", tuple(NeedsImage))
    _choices(view, "image_adequate", "Is the image good enough to answer?", ("yes", "no"))
    for line in _LINES:
        _choices(view, line.name, line.text, tuple(_SAYS), required=False)
    _choices(view, "decision", "Decision", tuple(Decision))
    _choices(
        view,
        "reasons",
        "Reasons, at least one unless you accept",
        tuple(_REASONS),
        required=False,
        many=True,
    )
    ET.SubElement(view, "Header", value="Comment")
    ET.SubElement(view, "TextArea", name="comment", toName="image", maxSubmissions="1", rows="4")
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def import_labelstudio_annotations(path: Path, reviewers: Mapping[str, str]) -> AnnotationImport:
    """Import annotations as reviews; importing the same file again changes nothing.

    Args:
        path: Label Studio's JSON export (not JSON-MIN).
        reviewers: annotator in Label Studio (number or e-mail address) -> pseudonym of a
            reviewer's account.

    Raises:
        WorkspaceError: the file is not a readable export.
        InvalidAnswerError: a pseudonym does not belong to a reviewer.
    """
    people = {who: _reviewer(pseudonym) for who, pseudonym in reviewers.items()}
    reviews, refused = 0, []
    for name, task, annotation in _annotations(path):
        try:
            _import_annotation(task, annotation, people)
        except MedrcubeError as error:
            refused.append(RejectedAnnotation(annotation=name, reason=str(error)))
        else:
            reviews += 1
    return AnnotationImport(reviews=reviews, refused=tuple(refused))


def _independent_versions(
    ordered: Iterable[tuple[int, str]], limit: int | None
) -> tuple[set[int], int]:
    """Return versions that do not disclose each other at sight, and the number of omitted ones."""
    tells: dict[str, set[str]] = {}
    for by, other in Disclosure.objects.filter(at_sight=True).values_list("by_id", "told_id"):
        tells.setdefault(by, set()).add(other)
        tells.setdefault(other, set()).add(by)
    version_ids: set[int] = set()
    revealed_items: set[str] = set()
    passed = 0
    for version, item in ordered:
        if len(version_ids) == limit:
            break
        if item in revealed_items:
            passed += 1
        else:
            version_ids.add(version)
            revealed_items |= tells.get(item, set())
    return version_ids, passed


def _task(version: ItemVersion, where: str) -> dict[str, Any]:
    return {
        "image": where,
        "question": version.question,
        "options": [*({"value": text} for text in _option_labels(version)), {"value": CANNOT_TELL}],
        "item": version.item_id,
        "version": version.number,
    }


def _option_labels(version: ItemVersion) -> list[str]:
    texts = (str(option["text"]) for option in version.options)
    return [f"{letter}. {text}" for letter, text in zip(_LETTERS, texts, strict=False)]


def _choices(
    view: ET.Element,
    name: str,
    title: str,
    values: Sequence[str],
    *,
    required: bool = True,
    many: bool = False,
) -> None:
    ET.SubElement(view, "Header", value=title)
    choices = ET.SubElement(
        view,
        "Choices",
        name=name,
        toName="image",
        choice="multiple" if many else "single-radio",
        required="true" if required else "false",
    )
    for value in values:
        ET.SubElement(choices, "Choice", value=str(value))


def _reviewer(pseudonym: str) -> User:
    user = User.objects.filter(pseudonym=pseudonym, role=Role.REVIEWER, is_active=True).first()
    if user is None:
        raise InvalidAnswerError(
            f"{pseudonym!r} is not a pseudonym of an active reviewer; they are listed by  "
            "medrcube review status"
        )
    return user


def _annotations(path: Path) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise WorkspaceError(f"{path}: has more than {_MOST_BYTES} bytes; export in parts")
        tasks = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise WorkspaceError(f"{path}: cannot be read as JSON: {error}") from error
    expected = "expected Label Studio's JSON export: a list of tasks with data and annotations"
    if not isinstance(tasks, list):
        raise WorkspaceError(f"{path}: is not a list; {expected}")
    for place, task in enumerate(tasks):
        annotations = task.get("annotations") if isinstance(task, dict) else None
        if not isinstance(annotations, list) or not isinstance(task.get("data"), dict):
            raise WorkspaceError(f"{path}: task {place} has no data or annotations; {expected}")
        for number, annotation in enumerate(annotations):
            if not isinstance(annotation, dict):
                raise WorkspaceError(f"{path}: task {place}: annotation {number}: {expected}")
            name = f"task {task.get('id', place)}, annotation {annotation.get('id', number)}"
            yield name, task["data"], annotation


def _import_annotation(
    data: Mapping[str, Any], annotation: Mapping[str, Any], people: Mapping[str, User]
) -> None:
    if annotation.get("was_cancelled"):
        raise InvalidAnswerError("was skipped in Label Studio")
    user = _annotator(annotation.get("completed_by"), people)
    item, number = data.get("item"), data.get("version")
    if not isinstance(item, str) or not isinstance(number, int) or not 0 < number < 2**31:
        raise InvalidAnswerError("its task does not state its item and version")
    version = ItemVersion.objects.filter(item_id=item, number=number, item__gold_defect="").first()
    if version is None:
        raise InvalidAnswerError(f"item {item} has no version {number} in this queue")
    results = _Results(annotation.get("result"))
    seconds = annotation.get("lead_time") or 0
    is_known = isinstance(seconds, int | float) and 0 <= seconds <= 24 * 60 * 60
    spent = float(seconds) if is_known else 0.0
    import_review(
        version,
        user,
        _blind_submission(results, version, spent),
        _review_submission(results),
        seconds=spent,
    )


def _annotator(completed_by: object, people: Mapping[str, User]) -> User:
    """Return the annotator, given by number or by an object with number and e-mail address."""
    person = completed_by if isinstance(completed_by, dict) else {"id": completed_by}
    for name in ("id", "email"):
        user = people.get(str(person.get(name)))
        if user is not None:
            return user
    raise InvalidAnswerError(
        f"was made by {person.get('id')}, who has no pseudonym: name one with --reviewer"
    )


def _blind_submission(results: _Results, version: ItemVersion, seconds: float) -> BlindSubmission:
    answer = results.single("answer")
    labels = _option_labels(version)
    if answer != CANNOT_TELL and answer not in labels:
        raise InvalidAnswerError(f"answer {answer!r} is none of the options of that version")
    return BlindSubmission(
        option=None if answer == CANNOT_TELL else labels.index(answer),
        confidence=results.among("confidence", {"1": 1, "2": 2, "3": 3}),
        needs_image=results.single("needs_image"),
        image_adequate=results.among("image_adequate", {"yes": True, "no": False}),
        milliseconds=int(seconds * 1000),
    )


def _review_submission(results: _Results) -> ReviewSubmission:
    lines = [line.name for line in _LINES if results.many(line.name)]
    return ReviewSubmission(
        decision=results.single("decision"),
        checklist={name: results.among(name, _SAYS) for name in lines},
        reasons=tuple((code, None) for code in results.many("reasons")),
        comment="\n".join(results.many("comment")),
    )


class _Results:
    """Results of an annotation by the name of their control."""

    def __init__(self, results: object) -> None:
        if not isinstance(results, list):
            raise InvalidAnswerError("has no result")
        self._answers: dict[str, list[str]] = {}
        for result in results:
            name, values = _result(result)
            if name in self._answers:
                raise InvalidAnswerError(f"{name}: has two answers")
            self._answers[name] = values

    def many(self, name: str) -> list[str]:
        return self._answers.get(name, [])

    def single(self, name: str) -> str:
        values = self.many(name)
        if len(values) != 1:
            raise InvalidAnswerError(f"{name}: {len(values)} answers, expected one")
        return values[0]

    def among(self, name: str, meanings: Mapping[str, Any]) -> Any:
        value = self.single(name)
        if value not in meanings:
            raise InvalidAnswerError(f"{name}: {value!r}, expected {', '.join(meanings)}")
        return meanings[value]


def _result(result: object) -> tuple[str, list[str]]:
    value = result.get("value") if isinstance(result, dict) else None
    name = result.get("from_name") if isinstance(result, dict) else None
    if not isinstance(value, dict) or not isinstance(name, str):
        raise InvalidAnswerError("a result has no from_name or value")
    values = value.get("choices", value.get("text"))
    values = [values] if isinstance(values, str) else values
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise InvalidAnswerError(f"{name}: expected choices or text")
    return name, values
