"""Brain Tumor Classification (MRI): the folder is the label, the top folder is the split."""

from __future__ import annotations

from collections.abc import Iterator

from medrcube.facts import Case, ImageRef, Label, Skip
from medrcube.sources._formats.tables.tables import natural_key
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_TESTING = CARD.pattern("testing")
_OFFICIAL = {
    "Training/glioma_tumor": CARD.pattern("training_glioma"),
    "Training/meningioma_tumor": CARD.pattern("training_meningioma"),
    "Training/pituitary_tumor": CARD.pattern("training_pituitary"),
    "Testing/glioma_tumor": _TESTING,
    "Testing/meningioma_tumor": _TESTING,
    "Testing/pituitary_tumor": _TESTING,
}


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the three tumour classes of an official copy; exclude a renamed copy.

    A single renamed file makes the whole copy suspect: misfiled images are known only by official
    name, and in a renumbered copy such a name may refer to any image.
    """
    del layout
    pairs = ((root.plain(path).rpartition("/")[0], path) for path in root.part("pictures"))
    files = [(folder, path) for folder, path in pairs if folder in _OFFICIAL]
    files.sort(key=lambda file: natural_key(file[1]))
    renamed = [
        path.relative_to(root.path).as_posix()
        for folder, path in files
        if not _OFFICIAL[folder].fullmatch(path.stem)
    ]
    for folder, path in files:
        split, _, label = folder.partition("/")
        key = f"{split}-{label}-{path.stem}"
        if renamed:
            yield Skip(key=key, reason=_distrust(renamed), paths=(path,))
            continue
        yield Case(
            key=key,
            images=(ImageRef(paths=(path,)),),
            labels=(Label(field="tumor", value=label, evidence=f"folder {folder}"),),
            split=split.lower(),
        )


def _distrust(renamed: list[str]) -> str:
    folder = renamed[0].rpartition("/")[0]
    return (
        f"this copy holds {len(renamed)} renamed files (one in {folder} has no name of the "
        "release), so the list of wrongly filed pictures cannot be applied to it; get the release "
        "from its home page"
    )
