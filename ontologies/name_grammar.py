"""Grammar of concept names: head noun, number, article, fragments.

Concept names are short noun phrases, so rules on the last word before the first preposition go a
long way; words that the rules get wrong are listed here as exceptions. The rules are tested against
the whole of HPO if it is available (``tests/build/questions/test_question_wording_real.py``).
"""

from __future__ import annotations

import re
from functools import lru_cache

from medrcube.ontologies.label_words import tokens

__all__ = [
    "asks_for_an",
    "is_fragment",
    "is_plural",
    "phrase",
    "pluralize",
    "same_head",
    "tail",
    "with_article",
]

_TAIL = re.compile(
    r"\s+(?:of|in|with|without|around|on|at|for|due|from|by|near|after|before|between|than"
    r"|other|below|above|involving|affecting)\b.*|\s+\d.*|\s*[,:;].*",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\s*\([^)]*\)")
_LEADING = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)

_ADJECTIVE = re.compile(r"\w(?:ed|ous|ic|ar|al|ary|ive|able|ible|less|ish|like|ular|lucent)$")
_ADJECTIVES = frozenset(
    (
        *("benign", "malignant", "round", "oval", "ovoid", "dense", "fatty", "coarse", "fine"),
        *("smooth", "sharp", "indistinct", "distinct", "solid", "mixed", "pure", "hazy", "patchy"),
        *("mild", "moderate", "severe", "minimal", "acute", "subacute", "chronic", "diffuse"),
        *("left", "right", "upper", "lower", "complete", "partial", "large", "small", "high"),
        *("low", "thick", "thin", "wide", "narrow", "dependent", "prominent", "recurrent"),
        *("persistent", "intermittent", "supine", "prone", "upright", "erect", "recumbent"),
        *("confluent", "crescent-shaped", "early", "late", "unlikely", "suspicious", "intrinsic"),
    )
)
_NOUNS = frozenset(
    (
        *("bed", "seed", "breed", "speed", "need", "microbleed", "clinic", "colic", "tic"),
        *("mosaic", "scar", "bar", "molar", "collar", "pillar", "cellar", "sugar", "ear"),
        *("tear", "metacarpal", "metatarsal", "interval", "canal", "signal", "hospital"),
        *("crystal", "arousal", "removal", "withdrawal", "renewal", "reversal", "potential"),
        *("terminal", "tonsil", "petal", "capital", "metal", "material", "animal", "meal"),
        *("ovary", "artery", "capillary", "summary", "rosary", "boundary", "archive", "olive"),
        *("nerve", "valve", "table", "cable", "mandible", "fabric", "antibiotic"),
        *("xenobiotic", "diuretic", "characteristic", "variable"),
    )
)
_SINGULAR_IN_S = frozenset(
    (
        *("diabetes", "ascites", "herpes", "series", "lens", "biceps", "triceps", "forceps"),
        *("pancreas", "species", "rabies", "scabies", "pes", "meniscus", "caries", "news", "gas"),
        *("facies", "tabes", "chaos", "pathos", "cosmos", "asbestos", "alias", "bias", "atlas"),
        *("feces", "measles", "mumps", "rickets", "chickenpox", "kuru", "palmaris", "yaws"),
        *("canities", "menses", "striatus", "strabismus"),
    )
)
_PLURAL = frozenset(
    ("bullae", "nuclei", "vertebrae", "bronchi", "diverticula", "striae", "nevi", "teeth", "feet")
)
_UNCOUNTED = frozenset(
    (
        *("atelectasis", "cardiomegaly", "consolidation", "edema", "emphysema", "fibrosis"),
        *("pneumonia", "thickening", "elongation", "enlargement", "distortion", "calcification"),
        *("hemorrhage", "cancer", "disease", "tuberculosis", "osteopenia", "osteoporosis"),
        *("gynecomastia", "honeycombing", "opacification", "hypertension", "hypertrophy"),
        *("kyphosis", "scoliosis", "bronchiectasis", "lymphadenopathy", "trapping", "blunting"),
        *("elevation", "retraction", "degeneration", "change", "necrosis", "stenosis", "atrophy"),
        *("pneumomediastinum", "pneumoperitoneum", "pneumocephalus", "hydrocephalus", "mastitis"),
        *("ventriculomegaly", "empyema", "failure", "regurgitation", "dissection", "myocarditis"),
        *("atheromatosis", "infarction", "eventration", "impairment", "sclerosis"),
        *("hyperintensity", "paving", "syndrome", "bleeding", "tissue", "effect", "gas", "air"),
        *("enhancement", "shadowing", "shift"),
    )
)
_UNCOUNTED_ENDINGS = (
    "osis",
    "itis",
    "iasis",
    "ectasis",
    "trophy",
    "megaly",
    "emia",
    "algia",
    "cephaly",
)
"""Endings of head nouns that take no article as imaging findings, where others take "a"."""

_VOWELS = ("a", "e", "i", "o", "u", "hour", "heir")
_SPOKEN_AS_YOU = ("uni", "ure", "ute", "eu", "one", "use")
_CAPITALS = re.compile(r"[A-Z]([A-Z0-9]+|-)")


@lru_cache(maxsize=1 << 13)
def head(name: str) -> str:
    """Return the head noun in lower case: the last word before the first preposition."""
    words = phrase(name).casefold().split()
    return words[-1] if words else ""


def phrase(name: str) -> str:
    """Return the part of a name up to its head: ``mass`` of ``mass with a sharp margin``."""
    return _TAIL.sub("", _bare(name))


def tail(name: str) -> str:
    """Return what follows the head, without parentheses."""
    return _bare(name)[len(phrase(name)) :]


def is_fragment(name: str) -> bool:
    """Whether a name is a descriptor without the noun it describes, such as ``Irregular``."""
    last = head(name)
    part = last.rpartition("-")[2]
    if part in _NOUNS:
        return False
    return last in _ADJECTIVES or part in _ADJECTIVES or bool(_ADJECTIVE.search(part))


def is_plural(name: str) -> bool:
    """Whether the head is plural; uncountable nouns are singular, and so is ARDS."""
    word = phrase(name).rpartition(" ")[2].rpartition("-")[2]
    part = word.casefold()
    if word.isupper() or part in _SINGULAR_IN_S:
        return False
    return part in _PLURAL or (part.endswith("s") and tokens(part)[-1:] != (part,))


def same_head(name: str, other: str) -> bool:
    """Whether two names have the same head noun in the same number."""
    return head(name) == head(other)


def pluralize(name: str) -> str:
    """Return the name with its head in the plural: ``CT images of the head``."""
    before = phrase(name)
    if before.endswith("y") and before[-2:-1] not in "aeiou":
        more = f"{before[:-1]}ies"
    elif before.endswith(("s", "x", "ch", "sh")):
        more = f"{before}es"
    else:
        more = f"{before}s"
    return name.replace(before, more, 1)


def asks_for_an(text: str) -> bool:
    """Whether a text takes "an" by its sound: an echo, an MR image; but a unilateral mass."""
    if _CAPITALS.match(text):
        return text[0] in "AEFHILMNORSX"
    lower = text.casefold()
    return lower.startswith(_VOWELS) and not lower.startswith(_SPOKEN_AS_YOU)


def with_article(name: str) -> str:
    """Return the name with its article, if it takes one: ``a lung nodule``, ``edema``."""
    last = head(name)
    if is_plural(name) or last in _UNCOUNTED or last.endswith(_UNCOUNTED_ENDINGS):
        return name
    return f"{'an' if asks_for_an(name) else 'a'} {name}"


def _bare(name: str) -> str:
    return _LEADING.sub("", _BRACKETS.sub("", name.strip()))
