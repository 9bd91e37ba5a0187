"""Private Hugging Face edition: Parquet files that include restricted images.

For licence holders, in a private repository of their own. It is made from a tree that has the
images (``medrcube release --private``, or reconstructed) and is a separate tree: the Parquet files
of a release never hold a restricted image, so that no upload can leak one by mistake.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from medrcube.build.reconstruction.safe_writes import stored_hash
from medrcube.build.release.editions.hugging_face import (
    DATA,
    OPEN_DATA,
    OPEN_SCHEMA,
    ROWS,
    schema_of,
)
from medrcube.build.release.editions.private_edition import (
    PRIVATE,
    RESTRICTED_SUMS,
    SUMS,
    mark_private,
    write_sums,
)
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.files.atomic import sha256_of
from medrcube.release_format.errata import FILE as ERRATA
from medrcube.release_format.format_version import FORMATS
from medrcube.release_format.images import ReleaseImages

__all__ = ["HubEdition", "write_private_hub"]

README = "README.md"
NOTE = f"""\
> **PRIVATE. This edition holds images whose licences do not permit redistribution.** Keep the
> repository private, and give access only to people who have the licence of every source in it.
> `{PRIVATE}` marks it; the public edition is another tree.

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubEdition:
    """Content of a private edition.

    Attributes:
        out: its folder.
        restricted: number of items with a restricted image.
        absent: number of items whose restricted image was missing from the tree.
        withdrawn: number of items withdrawn by the errata, which its Parquet files omit.
    """

    out: Path
    restricted: int
    absent: int
    withdrawn: int


def write_private_hub(release: Path, out: Path) -> HubEdition:
    """Write the private edition of a release atomically.

    Args:
        release: a release of medrcube with its restricted images.
        out: folder to create; must not exist.

    Raises:
        ReleaseError: the release breaks its rules, has no restricted image or no Parquet files, or
            the pixels of an image differ from its pixel hash.
        WorkspaceError: ``out`` exists, or cannot be written.
    """
    if out.exists():
        raise WorkspaceError(f"{out}: already exists; choose another folder")
    benchmark = load_benchmark(release)
    closed = {item.image for item in benchmark.items if item.image and item.restricted}
    restricted = {file for image in closed if (file := benchmark.images.file_of(image))}
    tables = sorted(
        path for folder in (DATA, OPEN_DATA) for path in (release / folder).rglob("*.parquet")
    )
    if not tables:
        raise ReleaseError(f"{release / DATA}: has no Parquet file; expected a release of ours")
    if not restricted:
        raise ReleaseError(
            f"{release}: has no restricted image, so it can be uploaded to the hub as it is; "
            "to add the restricted images, run  medrcube reconstruct"
        )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
            tree = Path(folder) / "tree"
            shutil.copytree(release, tree)
            mark_private(tree)
            counts = [
                _fill(benchmark.images, tree / table.relative_to(release), benchmark.errata)
                for table in tables
            ]
            _head(tree / README)
            _seal(tree, restricted)
            tree.rename(out)
    except OSError as error:
        raise WorkspaceError(f"{out}: cannot be written ({error.strerror})") from error
    filled, absent, withdrawn = (sum(column) for column in zip(*counts, strict=True))
    return HubEdition(out=out, restricted=filled, absent=absent, withdrawn=withdrawn)


def _fill(images: ReleaseImages, table: Path, withdrawn: Collection[str]) -> tuple[int, int, int]:
    """Insert the images of restricted items into a file, and omit withdrawn items.

    Returns:
        Number of images inserted, number of images missing, and number of items omitted.
    """
    filled = absent = left_out = 0
    temporary = table.with_suffix(".made")
    schema = _schema_of(table)
    words = [name for name in schema.names if name != "image"]
    with (
        pq.ParquetFile(table) as file,
        pq.ParquetWriter(temporary, schema, use_dictionary=words) as to,
    ):
        for batch in file.iter_batches(batch_size=ROWS):
            rows = []
            for row in batch.to_pylist():
                if f"{row['dataset']}/{row['id']}" in withdrawn:
                    left_out += 1
                    continue
                if row["restricted"]:
                    row["image"] = _picture(images, row)
                    filled += row["image"] is not None
                    absent += row["image"] is None
                rows.append(row)
            to.write_table(pa.Table.from_pylist(rows, schema))
    temporary.replace(table)
    return filled, absent, left_out


def _schema_of(table: Path) -> pa.Schema:
    """Return the columns of a file, which are those of an edition of this or an earlier version."""
    schema = pq.read_schema(table)
    if not any(map(schema.equals, (OPEN_SCHEMA, *map(schema_of, FORMATS)))):
        raise ReleaseError(f"{table.name}: has other columns than an edition of medrcube")
    return schema


def _picture(images: ReleaseImages, row: dict[str, Any]) -> dict[str, Any] | None:
    image = f"{row['dataset']}/{row['image_path']}"
    if images.state(image) is None:
        return None
    if stored_hash(images, image) != row["pixel_sha256"]:
        raise ReleaseError(f"{image}: its pixels differ from the release; reconstruct it again")
    return {"bytes": images.read(image), "path": PurePosixPath(image).name}


def _head(readme: Path) -> None:
    """State in the card, after the front matter, that the edition is private."""
    _, front, text = readme.read_text(encoding="utf-8").split("---\n", 2)
    readme.write_text(f"---\n{front}---\n\n{NOTE}{text.lstrip()}", encoding="utf-8")


def _seal(tree: Path, restricted: Collection[str]) -> None:
    for name in (SUMS, RESTRICTED_SUMS):
        (tree / name).unlink(missing_ok=True)
    errata = tree / ERRATA
    content = errata.read_bytes() if errata.is_file() else None
    errata.unlink(missing_ok=True)
    write_sums(tree, {name: sha256_of(tree / name) for name in restricted})
    if content is not None:  # errata are written after a release is sealed
        errata.write_bytes(content)
