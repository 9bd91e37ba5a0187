"""Comments on a version, visible to those who may see its reviews."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from medrcube.review.audit_trail.event_chain import NewEvent, record_events
from medrcube.review.errors import ConflictError, InvalidAnswerError
from medrcube.review.models import Comment, User
from medrcube.review.reviewing.item_versions import version_as_read

__all__ = ["add_comment", "resolve_comment"]

_LONGEST = 10_000


def add_comment(item_id: str, version: int, user: User, text: str) -> Comment:
    """Add a comment to the current version.

    Raises:
        InvalidAnswerError: the text is empty or too long.
        ConflictError: the item has changed since it was read.
    """
    now = timezone.now()
    if not text.strip():
        raise InvalidAnswerError("the comment is empty; enter some text")
    if len(text) > _LONGEST:
        raise InvalidAnswerError(f"a comment has at most {_LONGEST} characters")
    with transaction.atomic():
        item_version = version_as_read(item_id, version)
        comment = Comment.objects.create(
            version=item_version, author=user, text=text, written_at=now
        )
        body = {"version": version, "comment": comment.pk, "text": text}
        record_events(now, _comment_event(user, "comment.written", item_id, body))
    return comment


def resolve_comment(item_id: str, comment: int, user: User) -> None:
    """Mark a comment as resolved.

    Raises:
        ConflictError: there is no such open comment on the item.
    """
    now = timezone.now()
    with transaction.atomic():
        open_ones = Comment.objects.filter(pk=comment, version__item=item_id, resolved=False)
        if not open_ones.update(resolved=True):
            raise ConflictError("this comment is already resolved, or is not on this item")
        record_events(now, _comment_event(user, "comment.resolved", item_id, {"comment": comment}))


def _comment_event(user: User, kind: str, item: str, body: dict[str, object]) -> NewEvent:
    return NewEvent(actor=user.pseudonym, kind=kind, object=f"item:{item}", body=body)
