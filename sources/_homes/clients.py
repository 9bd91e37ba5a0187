"""Homes with a command-line client: Imaging Data Commons, Kaggle, git.

Each client manages its own tokens; none is requested, passed on or stored here.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medrcube.errors import HomeError
from medrcube.files.atomic import PARTIAL, sha256_of
from medrcube.sources._framework.card_parts.home import HomeFacts
from medrcube.sources._homes.manifest import MANIFEST, Manifest
from medrcube.sources._homes.protocol import DownloadedFile, DownloadRequest, ProgressStages

__all__ = ["CLIENTS", "ClientHome"]

IDC_FOLDERS = "%collection_id/%PatientID/%StudyInstanceUID/%SeriesInstanceUID"
"""Directory template of the Imaging Data Commons client, without the modality in the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A command-line client.

    Attributes:
        program: name of the program.
        install: how to install it.
        command: function of home and folder that returns the arguments.
    """

    program: str
    install: str
    command: Callable[[HomeFacts, Path], Sequence[str]]


def _idc(home: HomeFacts, folder: Path) -> Sequence[str]:
    return (
        *("download-from-selection", "--collection-id", home.id, "--download-dir", str(folder)),
        *("--dir-template", IDC_FOLDERS, "--use-s5cmd-sync", "true"),
    )


def _kaggle(home: HomeFacts, folder: Path) -> Sequence[str]:
    kind, _, name = home.id.partition("/")
    flag = "-d" if kind == "datasets" else "-c"
    return (kind, "download", flag, name, "-p", str(folder))


CLIENTS: Mapping[str, Client] = {
    "idc": Client(program="idc", install="pip install idc-index", command=_idc),
    "kaggle": Client(
        program="kaggle",
        install="pip install kaggle  and put a token where it looks for one",
        command=_kaggle,
    ),
    "git": Client(
        program="git",
        install="install it from your system",
        command=lambda home, folder: ("clone", "--depth", "1", home.id, str(folder)),
    ),
}


class ClientHome:
    """A home of a kind in ``CLIENTS``, which provides everything or nothing."""

    def bring(
        self, home: HomeFacts, order: DownloadRequest, manifest: Manifest, stages: ProgressStages
    ) -> Sequence[DownloadedFile]:
        """Run the client, with its output on standard error.

        A git clone is made next to the folder and then moved into place, so that none is left
        incomplete; the other clients resume where they were stopped.

        Raises:
            HomeError: the client is not installed, fails, or cannot provide single files.
        """
        client = CLIENTS[home.kind]
        if order.requested_files is not None:
            raise HomeError(
                f"{home.kind} {home.id}: provides only the whole dataset; leave out the list"
            )
        program = shutil.which(client.program)
        if program is None:
            raise HomeError(f"this needs the program {client.program!r}: {client.install}")
        if home.kind == "git":
            return _clone(program, home, order.folder, manifest)
        order.folder.mkdir(parents=True, exist_ok=True)
        before = set(_files(order.folder))
        _run([program, *client.command(home, order.folder)])
        return _digest(order.folder, before, manifest, stages)


def _digest(
    folder: Path, before: Collection[str], manifest: Manifest, stages: ProgressStages
) -> Sequence[DownloadedFile]:
    """Record the files that a client has downloaded; the client verifies them itself."""
    names = _files(folder)
    new = [name for name in names if name not in before or name not in manifest.files]
    with stages.stage("digest", len(new)) as advance:
        for name in new:
            path = folder / name
            manifest.files[name] = {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
            advance()
    manifest.save()
    return [
        DownloadedFile(name=name, status="there" if name in before else "fetched") for name in names
    ]


def _clone(
    program: str, home: HomeFacts, folder: Path, manifest: Manifest
) -> Sequence[DownloadedFile]:
    new = not (folder / ".git").exists()
    if new and _files(folder):
        raise HomeError(f"{folder}: holds other files; a clone needs an empty folder")
    if new:
        partial = folder.with_name(f".{folder.name}{PARTIAL}")
        shutil.rmtree(partial, ignore_errors=True)
        _run([program, *CLIENTS["git"].command(home, partial)])
        manifest.path.unlink(missing_ok=True)
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)
    commit = _output([program, "-C", str(folder), "rev-parse", "HEAD"])
    origin = _output([program, "-C", str(folder), "config", "remote.origin.url"])
    if origin != home.id:
        raise HomeError(f"{folder}: is a clone of {origin}, expected {home.id}")
    lost = _output([program, "-C", str(folder), "status", "--porcelain", "-uno"])
    if lost:
        raise HomeError(
            f"{folder}: differs from its commit ({lost.splitlines()[0].strip()}); to restore "
            f"it:  git -C {folder} checkout ."
        )
    manifest.add(".git", commit=commit, url=home.id)
    status = "fetched" if new else "there"
    return [DownloadedFile(name=name, status=status) for name in _files(folder)]


def _files(folder: Path) -> list[str]:
    """Return the files below a folder, sorted, without ours and git's."""
    return sorted(
        name
        for path in folder.rglob("*")
        if path.is_file()
        and (name := path.relative_to(folder).as_posix()) != MANIFEST
        and not name.startswith(".git/")
    )


def _run(command: Sequence[str]) -> None:
    try:
        process = subprocess.run(command, check=False, stdout=2)  # noqa: S603
    except OSError as error:
        raise HomeError(f"{command[0]}: cannot be run ({error.strerror})") from None
    if process.returncode:
        raise HomeError(
            f"{Path(command[0]).name} {command[1]} exited with status {process.returncode}; its "
            "output is above. Run the same command again to continue"
        )


def _output(command: Sequence[str]) -> str:
    process = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if process.returncode:
        raise HomeError(f"{' '.join(command[-3:])}: {process.stderr.strip() or 'failed'}")
    return process.stdout.strip()
