# ruff: noqa: PLC0415  (Django is set up before its models load)
"""How long a reviewer waits to be told that nothing is left for them.

Usage: ``python review_exhausted.py fill FOLDER ITEMS [DATABASE]``, then ``python
review_exhausted.py FOLDER [DATABASE]``. DATABASE is an empty PostgreSQL database; without it a
SQLite file lies in FOLDER. The queue is full in every case, but not for this reviewer: they have
reviewed every item as its first, or have been shown every key.
Prints one JSON object: median milliseconds of asking for an item, and of the whole page that says
why there is none, of nine turns.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median

from medrcube.review.server.bootstrap import ReviewPaths, configure, migrate

_TURNS = 9
_CASES = {
    "reviewed": "UPDATE review_item SET reviews = 1, sole_reviewer_id = {user}",
    "shown": """
        INSERT INTO review_exposure (user_id, item_id, by_id, at)
        SELECT {user}, id, id, CURRENT_TIMESTAMP FROM review_item
    """,
}


def main() -> None:
    """Fill a database, or measure."""
    is_fill = sys.argv[1] == "fill"
    folder, *rest = sys.argv[2:] if is_fill else sys.argv[1:]
    database = rest[is_fill:] or [str(Path(folder) / "review.sqlite3")]
    Path(folder).mkdir(parents=True, exist_ok=True)
    configure(ReviewPaths(folder=Path(folder) / "review", database=database[0]))
    if is_fill:
        from review import fill

        migrate()
        fill(int(rest[0]))
        return
    print(json.dumps({name: _waits(number, name) for number, name in enumerate(_CASES)}))


def _waits(number: int, name: str) -> dict[str, float]:
    from django.db import connection, transaction
    from django.test import Client

    from medrcube.review.models import Item, User
    from medrcube.review.reviewing.claims import claim_next

    user = User.objects.order_by("pk")[number]
    spent: dict[str, list[float]] = {"asking": [], "page": []}
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_CASES[name].format(user=user.pk))
            if connection.vendor == "postgresql":
                cursor.execute("ANALYZE review_item, review_exposure")
        client = Client(SERVER_NAME="127.0.0.1")
        client.force_login(user)
        for _ in range(_TURNS):
            began = time.perf_counter()
            if claim_next(user) is not None:
                sys.exit(f"{name}: something is left")
            spent["asking"].append(time.perf_counter() - began)
            began = time.perf_counter()
            client.get("/review/?empty")
            spent["page"].append(time.perf_counter() - began)
        items = Item.objects.count()
        transaction.set_rollback(True)
    return {"items": items, **{key: round(1000 * median(all_)) for key, all_ in spent.items()}}


if __name__ == "__main__":
    main()
