"""``CITATION.bib``: BibTeX entries of a release, its sources and ontologies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from medrcube.build.release.metadata.release_facts import ReleaseFacts
from medrcube.errors import ReleaseError
from medrcube.sources._framework.card import Card

__all__ = ["CITATIONS", "MEDRCUBE", "ONTOLOGIES", "bibliography", "bibtex_entries"]

CITATIONS = "CITATION.bib"

MEDRCUBE = """\
@misc{medrcube2026, title={MedRCube: A Multidimensional Framework for Fine-Grained and In-Depth
 Evaluation of MLLMs in Medical Imaging}, author={Bao, Zhijie and Chen, Fangke and Bao, Licheng and
 Zhang, Chenhui and Chen, Wei and Peng, Jiajie and Wei, Zhongyu}, year={2026}, eprint={2604.13756},
 archivePrefix={arXiv}, url={https://arxiv.org/abs/2604.13756}}"""
"""BibTeX entry of the benchmark whose form a release has, from its own README, F1mc/MedRCube."""

ONTOLOGIES: Mapping[str, str] = {
    "hpo": """\
@article{gargano2024hpo, title={The Human Phenotype Ontology in 2024: phenotypes around the world},
 author={Gargano, Michael A. and Matentzoglu, Nicolas and Coleman, Ben and others},
 journal={Nucleic Acids Research}, volume={52}, number={D1}, pages={D1333--D1346}, year={2024},
 doi={10.1093/nar/gkad1005}}""",
    "radlex": """\
@article{langlotz2006radlex, title={RadLex: a new method for indexing online educational
 materials}, author={Langlotz, Curtis P.}, journal={RadioGraphics}, volume={26}, number={6},
 pages={1595--1597}, year={2006}, doi={10.1148/rg.266065168}}""",
    "icd11": """\
@misc{who2019icd11, title={International Classification of Diseases, Eleventh Revision (ICD-11)},
 author={{World Health Organization}}, year={2019}, url={https://icd.who.int/}}""",
    "sssom": """\
@article{matentzoglu2022sssom, title={A Simple Standard for Sharing Ontological Mappings (SSSOM)},
 author={Matentzoglu, Nicolas and Balhoff, James P. and Bello, Susan M. and others},
 journal={Database}, volume={2022}, pages={baac035}, year={2022},
 doi={10.1093/database/baac035}}""",
}
"""Ontology -> its BibTeX entry."""

_HEAD = re.compile(r"@\w+\s*\{\s*([^\s,{}]+)\s*,")


def bibliography(facts: ReleaseFacts) -> str:
    """Return the text of ``CITATION.bib``: benchmark, this software, ontologies and sources in use.

    Raises:
        ReleaseError: the citation of a card is not valid BibTeX, or two cards use one key for
            different entries.
    """
    software = (
        f"@software{{medrcube, title={{medrcube}}, author={{{{The medrcube maintainers}}}}, "
        f"version={{{facts.software}}}}}"
    )
    shared = [MEDRCUBE, software, *_ontologies(facts.editions)]
    entry_of = {key: entry for text in shared for key, entry in bibtex_entries(text)}
    owners: dict[str, str] = {}
    for source in facts.sources:
        for key, entry in _of(source.card):
            if entry_of.setdefault(key, entry) != entry:
                raise ReleaseError(
                    f"sources {owners.get(key, 'medrcube')} and {source.card.id} give the BibTeX "
                    f"key {key!r} to different entries; rename it in one of their cards"
                )
            owners.setdefault(key, source.card.id)
    head = f"% What to cite for the release {' '.join(facts.name.split())}.\n"
    return head + "".join(f"\n{entry}\n" for entry in entry_of.values())


def bibtex_entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield key and text of each entry of a BibTeX file.

    Raises:
        ValueError: the text is not an entry, or its braces do not balance.
    """
    rest = text.strip()
    while rest:
        match = _HEAD.match(rest)
        if match is None:
            raise ValueError(f"{rest[:40]!r} begins no BibTeX entry")
        end = _end(rest)
        yield match[1], rest[:end]
        rest = rest[end:].strip()


def _of(card: Card) -> list[tuple[str, str]]:
    try:
        return list(bibtex_entries(card.citation))
    except ValueError as error:
        raise ReleaseError(
            f"source {card.id}: citation of its card: {error}; expected BibTeX"
        ) from None


def _ontologies(editions: Iterable[Mapping[str, Any]]) -> list[str]:
    used = {edition["ontology"] for edition in editions}
    return [entry for ontology, entry in ONTOLOGIES.items() if ontology in used]


def _end(text: str) -> int:
    """Return where the first entry ends: after its closing brace."""
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == "}" and not depth:
            return index + 1
    raise ValueError(f"the braces of {text[:40]!r} do not balance")
