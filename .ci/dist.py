"""Build wheel and source distribution for a package index: ``python .ci/dist.py REPOSITORY_URL``.

Links of README.md are relative, so that they work in a checkout; a package page has no files beside
it. In a copy of the tracked files they become links into the repository, at the tag of the version,
and the project's URLs are stated. The checkout itself is not changed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
RELATIVE = re.compile(r"(!?\[[^\]]*\]\()(?!https?:|mailto:|#)([^)\s]+)(\))")


def absolute_links(text: str, repository: str, tag: str) -> str:
    """Markdown in which no link or image is relative."""

    def absolute(match: re.Match[str]) -> str:
        opening, target, closing = match.groups()
        kind = "raw" if opening.startswith("!") else "blob"
        return f"{opening}{repository}/{kind}/{tag}/{target}{closing}"

    return RELATIVE.sub(absolute, text)


def project_urls(repository: str) -> str:
    """The table ``[project.urls]``, with the labels that package pages know."""
    return (
        "[project.urls]\n"
        f'Source = "{repository}"\n'
        f'Documentation = "{repository}/tree/main/docs"\n'
        f'Issues = "{repository}/issues"\n'
        f'Changelog = "{repository}/blob/main/CHANGELOG.md"\n\n'
    )


def main(repository: str) -> None:
    """Build into ``dist/`` of the checkout."""
    repository = repository.rstrip("/")
    out = CHECKOUT / "dist"
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        tracked = subprocess.check_output(["git", "ls-files", "-z"], cwd=CHECKOUT, text=True)  # noqa: S607
        for name in filter(None, tracked.split("\0")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, copy / name)
        settings = (copy / "pyproject.toml").read_text(encoding="utf-8")
        tag = "v" + tomllib.loads(settings)["project"]["version"]
        readme = copy / "README.md"
        readme.write_text(
            absolute_links(readme.read_text(encoding="utf-8"), repository, tag), encoding="utf-8"
        )
        settings = settings.replace(
            "[project.scripts]", project_urls(repository) + "[project.scripts]", 1
        )
        (copy / "pyproject.toml").write_text(settings, encoding="utf-8")
        built = [sys.executable, "-P", "-m", "build", "--outdir", str(out), str(copy)]
        subprocess.run(built, check=True, cwd=tempfile.gettempdir())  # noqa: S603


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].startswith("https://"):
        sys.exit("usage: python .ci/dist.py https://HOST/OWNER/medrcube")
    main(sys.argv[1])
