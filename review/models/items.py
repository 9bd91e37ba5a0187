"""Models: items, their versions and images."""

from __future__ import annotations

import uuid

from django.db import models

from medrcube.review.reviewing.state_machine import ReviewState

__all__ = ["Asset", "Item", "ItemVersion", "Project"]


class Project(models.Model):
    """The single project of a database: its policy and its questionnaire."""

    name = models.CharField(max_length=200)
    policy = models.JSONField(default=dict)
    questionnaire = models.CharField(max_length=16)


class Asset(models.Model):
    """Image, re-encoded at import; its path depends only on its digest.

    Attributes:
        id: opaque id used by pages.
        sha256: digest of the stored PNG.
        original: original pixels kept by the build (``visibility.originals``): digests of the
            slices, and the mapping from them to the image; empty if there are none.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    sha256 = models.CharField(max_length=64, unique=True)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    original = models.JSONField(default=dict)


class Item(models.Model):
    """Item, independent of its versions.

    Attributes:
        id: id of the item in the workspace.
        case_key: keyed hash of the case; empty if unknown.
        stratum: stratum for agreement statistics: modality, task and distractor strategy.
        version: number of the current version.
        reviews: number of valid reviews of the current version, denormalised so that the queue and
            the lists need no join.
        sole_reviewer: reviewer of the only review, if there is exactly one; part of the queue
            index, so that a reviewer who is ahead of the others skips their own items at no cost.
        for_specialist: whether the next slot is reserved for a specialist, because the slots for
            others are taken (``Policy.specialists``).
        priority: higher comes first.
        lot: random rank among items of equal priority, from the seed of the project.
        gold_defect: code of the known defect of a gold item; empty for a real item.
        copied_from: original of a gold item; a reviewer who has seen one is not shown the other.
        incident: privacy incident because of which it is in quarantine, if any.
    """

    id = models.CharField(primary_key=True, max_length=64)
    source = models.CharField(max_length=64)
    task = models.CharField(max_length=64)
    anatomy = models.CharField(max_length=32)
    modality = models.CharField(max_length=32)
    case_key = models.CharField(max_length=32, blank=True, default="", db_index=True)
    stratum = models.CharField(max_length=160)
    state = models.CharField(
        max_length=16,
        choices=[(state.value, state.value) for state in ReviewState],
        default=ReviewState.DRAFT,
    )
    version = models.PositiveIntegerField(default=1)
    reviews = models.PositiveSmallIntegerField(default=0)
    sole_reviewer = models.ForeignKey(
        "review.User", on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    for_specialist = models.BooleanField(default=False)
    priority = models.IntegerField(default=0)
    lot = models.BigIntegerField()
    gold_defect = models.CharField(max_length=32, blank=True, default="")
    copied_from = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, related_name="gold_copies"
    )
    incident = models.ForeignKey(
        "review.Incident", on_delete=models.PROTECT, null=True, related_name="items"
    )

    class Meta:
        indexes = [
            models.Index(
                fields=[
                    "state",
                    "gold_defect",
                    "for_specialist",
                    "-reviews",
                    "-priority",
                    "lot",
                    "sole_reviewer",
                    "source",
                    "task",
                    "anatomy",
                    "modality",
                    "id",
                ],
                name="queue_order",
            ),
            models.Index(fields=["state", "id"], name="list_by_state"),
            models.Index(fields=["task", "id"], name="list_by_task"),
            models.Index(fields=["state", "task", "id"], name="list_by_state_and_task"),
            models.Index(fields=["stratum", "id"], name="list_by_stratum"),
            models.Index(fields=["source", "id"], name="list_by_source"),
        ]


class ItemVersion(models.Model):
    """Version of an item with one wording; never changed or deleted (triggers).

    Attributes:
        options: list of objects: text, concept, ids, strategy, grade, passed.
        key: index of the right option.
        target: form, ``ask`` and ``truth`` of an item of ``open.json``; ``None`` for one of
            ``test.json``. Its options are those of ``reviewing.open_answers``.
        picture: image without a mark.
        overlay: image with its mark, or ``None``.
        asks_mark: whether the question is about the mark, so that it must be shown from the start.
        provenance: source, case, slice, evidence of the label, licence, as recorded by the build.
        warnings: item rules with a warning.
        content_sha256: digest of question, options, key and images.
        author: user who edited it; ``None`` if it comes from the workspace.
    """

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    question = models.TextField()
    options = models.JSONField()
    key = models.PositiveSmallIntegerField()
    target = models.JSONField(null=True)
    picture = models.ForeignKey(Asset, on_delete=models.PROTECT, related_name="+")
    overlay = models.ForeignKey(Asset, on_delete=models.PROTECT, related_name="+", null=True)
    asks_mark = models.BooleanField(default=False)
    provenance = models.JSONField(default=dict)
    warnings = models.JSONField(default=list)
    content_sha256 = models.CharField(max_length=64)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True)
    author = models.ForeignKey("review.User", on_delete=models.PROTECT, null=True)
    note = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "number"], name="one_version_of_a_number"),
        ]
