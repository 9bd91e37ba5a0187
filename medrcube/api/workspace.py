"""A workspace: raw data in; tables, images and releases out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from medrcube.api.arguments import flag_of, number_of, path_of, paths_by_name, text_of
from medrcube.api.notebook import MOST_THUMBNAILS, Thumbnail, summary_html, thumbnail_of
from medrcube.api.release import Release, load_release
from medrcube.build.build_report import BuildReport
from medrcube.build.execution.local import LocalEngine
from medrcube.build.execution.progress import usable_cores
from medrcube.build.pipeline import build as run_build
from medrcube.build.release.image_writers import parse_shard_size
from medrcube.build.release.write import release as write_release
from medrcube.build.workspace_sources import workspace_sources
from medrcube.console.progress import Reporter
from medrcube.errors import MedrcubeError, WorkspaceError, failure_text
from medrcube.sources._framework.layout import check_root, inspect_copy, require_fit
from medrcube.sources.registry import find_sources, get_source
from medrcube.workspace import WorkspaceFolder, init_workspace
from medrcube.workspace import open_workspace as read_workspace

__all__ = ["BuildReport", "Workspace", "create_workspace", "open_workspace"]


@dataclass(frozen=True, eq=False, repr=False)
class Workspace:
    """A folder with ``medrcube.toml``; created by ``open_workspace`` or ``create_workspace``."""

    _folder: WorkspaceFolder

    @property
    def path(self) -> Path:
        """Path of the workspace folder."""
        return self._folder.root

    @property
    def sources(self) -> Mapping[str, Path]:
        """Source id to the folder with your copy of its raw data."""
        return dict(self._folder.sources)

    def build(
        self,
        *,
        workers: int = 1,
        seed: int | None = None,
        profile: str | None = None,
        progress: bool = False,
    ) -> BuildReport:
        """Build images and items from the raw data; repeating the call rebuilds only what changed.

        Args:
            workers: number of worker processes; 0 uses one per core. In a script, more than one
                requires an ``if __name__ == "__main__":`` guard around the call, as for any process
                pool.
            seed: overrides the seed in ``medrcube.toml``.
            profile: target counts: ``medrcube``, or your own profile file.
            progress: show the progress on standard error.

        Raises:
            MedrcubeError: an argument is wrong, nothing can be built, or a source or the audit
                failed. The tables of a failed build are still written, and ``audit`` lists every
                failure.
        """
        processes = number_of("workers", workers, 0) or usable_cores()
        settings = self._folder.settings
        settings = replace(
            settings,
            seed=settings.seed if seed is None else number_of("seed", seed),
            profile=settings.profile if profile is None else str(path_of("profile", profile)),
        )
        report = run_build(
            replace(self._folder, settings=settings),
            workspace_sources(self._folder),
            LocalEngine(processes),
            Reporter(quiet=not flag_of("progress", progress)),
        )
        if report.failures:
            failures = "\n".join(f"  {failure}" for failure in report.failures)
            raise MedrcubeError(f"{self.path}: the build failed:\n{failures}")
        return report

    def items(self) -> pd.DataFrame:
        """Return the items with their options, one row each (``items.parquet``)."""
        return self._table(self._folder.items)

    def open_items(self) -> pd.DataFrame:
        """Return the items beyond the published cube, one row each (``open_items.parquet``)."""
        return self._table(self._folder.open_items)

    def images(self) -> pd.DataFrame:
        """Return the images and their marks, one row each (``samples.parquet``)."""
        return self._table(self._folder.samples)

    def quarantine(self) -> pd.DataFrame:
        """Return every case that is not in the tables, with the reason (``quarantine.parquet``)."""
        return self._table(self._folder.quarantine)

    def audit(self) -> dict[str, Any]:
        """Return counts and checks over images and items (``audit.json``).

        Raises:
            WorkspaceError: the workspace is not built, or the file cannot be read.
        """
        try:
            audit: dict[str, Any] = json.loads(self._folder.audit.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise self._not_built(self._folder.audit) from None
        except (OSError, ValueError) as error:
            raise WorkspaceError(
                f"{self._folder.audit}: cannot be read: {failure_text(error)}"
            ) from error
        return audit

    def image(self, sample: str) -> Image.Image:
        """Return an image as a model sees it.

        Args:
            sample: image id: column ``id`` of ``images()``, column ``sample`` of ``items()``.

        Raises:
            WorkspaceError: there is no such image, or its file is gone or damaged.
        """
        text_of("sample", sample)
        images = self.images()
        files = images.loc[images["id"] == sample, "image"]
        if files.empty:
            raise WorkspaceError(
                f"{self._folder.samples}: has no image {sample!r}; expected an id of images()"
            )
        path = self.path / files.iloc[0]
        try:
            with Image.open(path) as image:
                image.load()
                return image
        except OSError as error:
            raise WorkspaceError(
                f"{path}: cannot be read ({error}); build again:  medrcube build {self.path}"
            ) from error

    def release(
        self,
        out: str | Path,
        *,
        name: str = "unnamed",
        allow_unreviewed: bool = False,
        require_agreement: bool = False,
        private: bool = False,
        since: str | Path | None = None,
        shard_size: str | None = None,
    ) -> Release:
        """Write a release, as ``medrcube release`` does.

        Args:
            out: folder to create.
            name: version of the release.
            allow_unreviewed: include items that no reviewer has accepted; the dataset card says so.
            require_agreement: refuse to release if reviewer agreement is too low.
            private: keep restricted images; such a release must never be shared.
            since: an earlier release; ``CHANGES.md`` lists the changes since then.
            shard_size: put images into tar shards of at most this size, such as ``512MB``.

        Raises:
            MedrcubeError: an argument has a wrong type.
            ReleaseError: the audit failed, ``out`` exists, or no item may be released.
            WorkspaceError: ``shard_size`` is not a size, the workspace is not built, or ``out``
                cannot be written.
        """
        write_release(
            self._folder,
            workspace_sources(self._folder),
            path_of("out", out),
            name=text_of("name", name),
            allow_unreviewed=flag_of("allow_unreviewed", allow_unreviewed),
            private=flag_of("private", private),
            require_agreement=flag_of("require_agreement", require_agreement),
            since=None if since is None else path_of("since", since),
            shard_size=parse_shard_size(
                None if shard_size is None else text_of("shard_size", shard_size)
            ),
        )
        return load_release(out)

    def _table(self, path: Path) -> pd.DataFrame:
        try:
            return pd.read_parquet(path)
        except FileNotFoundError:
            raise self._not_built(path) from None
        except (OSError, ValueError) as error:
            raise WorkspaceError(f"{path}: cannot be read ({error}); build again") from error

    def _not_built(self, path: Path) -> WorkspaceError:
        return WorkspaceError(
            f"{path}: is missing; build first:  build()  or  medrcube build {self.path}"
        )

    def __repr__(self) -> str:
        return f"Workspace(name={self.path.name!r}, sources={sorted(self.sources)})"

    def _repr_html_(self) -> str:
        title = f"Workspace {self.path.name}"
        if not self._folder.items.exists():
            rows = [(source,) for source in sorted(self.sources)]
            return summary_html(title, ("source",), rows, note="Not built yet: build().")
        images, items, quarantine = self.images(), self.items(), self.quarantine()
        counts = [table["source"].value_counts() for table in (images, items, quarantine)]
        names = sorted({str(source) for count in counts for source in count.index})
        return summary_html(
            title,
            ("source", "images", "items", "in quarantine"),
            [(name, *(int(count.get(name, 0)) for count in counts)) for name in names],
            islice(self._thumbnails(images), MOST_THUMBNAILS),
        )

    def _thumbnails(self, images: pd.DataFrame) -> Iterator[Thumbnail]:
        """Yield one thumbnail per source, from images that may be redistributed."""
        for source, group in images[images["redistribute"]].groupby("source", sort=True):
            row = group.iloc[0]
            try:
                data = (self.path / row["image"]).read_bytes()
            except OSError:
                continue
            thumbnail = thumbnail_of(data, f"{source}: {row['anatomy']}, {row['modality']}")
            if thumbnail is not None:
                yield thumbnail


def open_workspace(path: str | Path) -> Workspace:
    """Open a workspace.

    Args:
        path: workspace folder.

    Raises:
        WorkspaceError: there is no ``medrcube.toml``, or it is invalid.

    Example:
        >>> import medrcube
        >>> workspace = medrcube.open_workspace("demo")
        >>> items = workspace.items()
        >>> first = items[items["source"] == "busi"].iloc[0]
        >>> workspace.image(first["sample"]).mode
        'L'
    """
    return Workspace(read_workspace(path_of("path", path)))


def create_workspace(
    path: str | Path, sources: Mapping[str, str | Path] | None = None
) -> Workspace:
    """Create a workspace: a folder with a commented ``medrcube.toml``.

    Args:
        path: folder to create.
        sources: source id to the folder with your copy of its raw data.

    Raises:
        MedrcubeError: ``sources`` is not a mapping from ids to folders, or names an unknown source.
        WorkspaceError: there is a workspace already, or the folder cannot be written.
        SourceError: a folder does not contain what the card of its source expects.
    """
    folder = path_of("path", path)
    roots = {
        name: root.absolute()
        for name, root in paths_by_name("sources", {} if sources is None else sources).items()
    }
    known_sources = find_sources()
    for name, root in roots.items():
        card = get_source(known_sources, name).card
        check_root(card, root)
        require_fit(inspect_copy(card, root))
    return Workspace(init_workspace(folder, roots))
