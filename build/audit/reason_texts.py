"""Readable texts for the reasons under which questions are counted that were not asked.

``audit.json`` counts them by short codes; a person who runs a build sees these texts.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["reason_text"]

_TEXTS: Mapping[str, str] = {
    "another image that denies it shows more": "a more informative image without it is asked about",
    "another-image-too": "another image shows it too",
    "both-sides": "on both sides of the body",
    "burnt-in": "graphics in the image reveal the answer",
    "contradicting-pictures": "identical images with contradicting labels",
    "its source has one answer; more cases, or none": "only one answer in the source",
    "all sources have one answer; add a source with another": "only one answer in all sources",
    "key-not-true": "key not known to be present",
    "named-side": "structure named after its side",
    "near-midline": "too close to the midline",
    "no partner with another answer": "no matching image with another answer",
    "no set of options in which each is the key of some question": (
        "no option set in which every option is a key"
    ),
    "no-boxes": "too few candidate boxes",
    "no-candidate": "no candidate distractor",
    "not drawn": "not drawn for the quota",
    "not-side-by-side": "structures not side by side",
    "not-visible": "answer not visible in the image",
    "one of two": "name does not state which of a pair",
    "other-class": "another class does not rule it out",
    "panels-unsure": "masks do not confirm what the images show",
    "partial": "image shows only part of the structure",
    "regions-missing": "region mask missing",
    "repeated-picture": "image occurs more than once",
    "residual category": "residual category",
    "roi-size": "region too small or too large",
    "scope": "fact is about more than this image",
    "several-regions": "several regions",
    "sides-unknown": "side of the body unknown",
    "silent": "absence not stated",
    "two options, beyond two_option_share": "two options only, above two_option_share",
    "undiagnosed": "case without a usable diagnosis",
    "view-unknown": "view unknown",
}


def reason_text(code: str) -> str:
    """Return the text of a reason; evidence grades and sub-reasons are kept, unknown codes too.

    ``"evidence-C"`` becomes ``"evidence of grade C only"``, and ``"no-distractor (identity)"``
    becomes ``"no safe distractor (identity)"``.
    """
    if code.startswith("evidence-"):
        return f"evidence of grade {code.removeprefix('evidence-')} only"
    head, bracket, rest = code.partition(" (")
    if head == "no-distractor":
        return f"no safe distractor{bracket}{rest}"
    if head == "not-proved":
        return f"not shown to be unanswerable{bracket}{rest}"
    return _TEXTS.get(code, code)
