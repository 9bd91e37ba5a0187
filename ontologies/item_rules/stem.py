"""Item-writing rules on the stem: answerable without the options, and without hints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from medrcube.ontologies.item_rules.rule_types import ERROR, ItemRule, ItemText
from medrcube.ontologies.label_words import normalise
from medrcube.vocabulary.image_names import names_modality

__all__ = ["STEM_RULES"]

# "Which of the following is the most likely diagnosis" names what it asks for.
_OPEN = re.compile(
    r"\bwhich (one )?of (these|the following) "
    r"((is|are)\b(?! the (most|best)\b)|(statements?|options?|answers?|entries)\b)"
    r"|\b(true|correct) (statement|option|answer)s?\b|\bregarding\b",
    re.IGNORECASE,
)
_NO_TARGET = re.compile(
    r"\b(what|which) (is|are|was|were|can be) (seen|shown|present|visible|depicted|this|here)\b",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(r"\b(not|except|least|false)\b", re.IGNORECASE)
_FILE = re.compile(
    r"\b[\w-]+\.(png|jpe?g|bmp|tiff?|gif|dcm|dicom|nii|mhd|nrrd|mat|avi|mp4)\b"
    r"|\b[a-z]+_?\d{3,}\b|\b[a-z]+_\d+\b",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(findings?|impression|conclusion|indication|history|comparison)\s*:"
    r"|\breport (says|states|reads|mentions|describes)\b"
    r"|[\"\u201c][^\"\u201d]*( [^\"\u201d ]+){3,}[\"\u201d]",
    re.IGNORECASE,
)
# Every mark that this project draws is red, so red is no hint, but any other colour might be.
_COLOUR = re.compile(
    r"\b(green|blue|yellow|orange|purple|violet|pink|cyan|magenta|white|black|gr[ae]y)"
    r"(-coloured|-colored)? (\w+ )?"
    r"(box|boxes|outlines?|contours?|circles?|arrows?|masks?|overlays?|rectangles?)\b",
    re.IGNORECASE,
)


def _not_a_question(draft: ItemText) -> Iterator[str]:
    if not draft.question.strip().endswith("?"):
        yield "the lead-in does not end with a question mark; ask one direct question"


def _open_question(draft: ItemText) -> Iterator[str]:
    match = _OPEN.search(draft.question)
    if match:
        yield (
            f"{match.group()!r} can only be answered by reading the options; name what is asked "
            "for, such as 'which finding'"
        )


def _no_target(draft: ItemText) -> Iterator[str]:
    match = _NO_TARGET.search(draft.question)
    if match:
        yield (
            f"{match.group()!r} does not name the kind of answer; put a noun after 'which', such "
            f"as 'which finding'"
        )


def _no_modality(draft: ItemText) -> Iterator[str]:
    if not names_modality(draft.question):
        yield (
            "the stem names no imaging modality; say what is shown, such as 'in this CT image', "
            "or ask for the modality"
        )


def _negative_stem(draft: ItemText) -> Iterator[str]:
    """Flag negative stems. A label in the stem may contain such a word: ``not COVID-19``."""
    stem = draft.question
    for name in (draft.target, *draft.options):
        if name:
            stem = re.sub(re.escape(name), "", stem, flags=re.IGNORECASE)
    match = _NEGATIVE.search(stem)
    if match:
        yield f"the stem is negative ({match.group()!r}); ask for what is present"


def _text_leak(draft: ItemText) -> Iterator[str]:
    stem = f" {normalise(draft.question)} "
    key = draft.options[draft.key]
    label = draft.concepts[draft.key] if draft.concepts else ""
    for name in dict.fromkeys((key, label)):
        words = normalise(name)
        if len(words) > 1 and f" {words} " in stem:
            yield f"the stem names the key ({name!r}); remove the word from the question"


def _file_name(draft: ItemText) -> Iterator[str]:
    match = _FILE.search(draft.question)
    names = {PurePath(draft.file).name, PurePath(draft.file).stem} - {""}
    file_name = next((name for name in sorted(names) if name in draft.question), "")
    if match or file_name:
        name = file_name or (match.group() if match else "")
        yield f"the stem names a file or case ({name!r}); say 'this CT image' instead"


def _report_sentence(draft: ItemText) -> Iterator[str]:
    match = _REPORT.search(draft.question)
    if match:
        yield (
            f"the stem quotes a report ({match.group()!r}); what a report says is the answer, so "
            "ask about the image alone"
        )


def _mark_colour(draft: ItemText) -> Iterator[str]:
    match = _COLOUR.search(draft.question)
    if match:
        yield (
            f"the stem names the colour of a mark ({match.group()!r}), which may stand for a "
            "class; draw every mark in red or leave the colour out"
        )


STEM_RULES = (
    ItemRule(
        id="not-a-question",
        level=ERROR,
        asks="The lead-in is one question and ends with a question mark.",
        flaw="The lead-in does not end with a question mark.",
        check=_not_a_question,
    ),
    ItemRule(
        id="open-question",
        level=ERROR,
        asks='The question can be answered without reading the options; no "which is true".',
        flaw="The question cannot be answered without reading the options.",
        check=_open_question,
    ),
    ItemRule(
        id="no-target",
        level=ERROR,
        asks="The question names the kind of answer it asks for.",
        flaw="The question does not name the kind of answer it asks for.",
        check=_no_target,
    ),
    ItemRule(
        id="no-modality",
        level=ERROR,
        asks="The stem names the modality of the image, or asks for it.",
        flaw="The stem neither names the modality of the image nor asks for it.",
        check=_no_modality,
    ),
    ItemRule(
        id="negative-stem",
        level=ERROR,
        asks="No negative stem: not, except, least, false (outside the name of a label).",
        flaw="The stem is negative: not, except, least or false.",
        check=_negative_stem,
    ),
    ItemRule(
        id="text-leak",
        level=ERROR,
        asks="The stem contains neither the text of the key nor the dataset's term for it.",
        flaw="The stem contains the text of the key, or the dataset's term for it.",
        check=_text_leak,
    ),
    ItemRule(
        id="file-name",
        level=ERROR,
        asks="The stem names no file or case.",
        flaw="The stem names a file or case.",
        check=_file_name,
    ),
    ItemRule(
        id="report-sentence",
        level=ERROR,
        asks="The stem quotes no report.",
        flaw="The stem quotes a report.",
        check=_report_sentence,
    ),
    ItemRule(
        id="mark-colour",
        level=ERROR,
        asks="The stem names no mark colour other than red, which every mark has.",
        flaw="The stem names a mark colour other than red, which may stand for a class.",
        check=_mark_colour,
    ),
)
