"""Licences of the ontologies, and the notices that they require.

The wording is as the owners request it: HPO on its licence page, RSNA in the header of RadLex, WHO
in the licence of ICD-11. HPO may not be altered and ICD-11 may not be redistributed with changes,
so neither is part of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medrcube.ontologies.concept_records import HPO, ICD11, RADLEX, SSSOM

__all__ = ["LICENCES", "licence_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OntologyLicence:
    """Licence terms of one ontology.

    Attributes:
        name: short name.
        text: required notice; ``{version}`` is replaced by the version in use.
        terms: what is and is not permitted, in one sentence.
    """

    name: str
    text: str
    terms: str

    def statement(self, version: str) -> str:
        """Return the notice for one version."""
        return self.text.format(version=version)


LICENCES: Mapping[str, OntologyLicence] = {
    HPO: OntologyLicence(
        name="HPO licence",
        text=(
            "This service/product uses the Human Phenotype Ontology (version {version}). "
            "Find out more at http://www.human-phenotype-ontology.org"
        ),
        terms=(
            "Acknowledge and cite the HPO Consortium, show the version, alter neither content "
            "nor logical relationships."
        ),
    ),
    RADLEX: OntologyLicence(
        name="RadLex License 2.0",
        text=(
            "Copyright 2014, The Radiological Society of North America (RSNA), all rights "
            "reserved. Licensed under RadLex License Version 2.0. Distributed on an "
            '"AS IS" basis, without warranties of any kind.'
        ),
        terms="Keep the copyright line and the notice that it comes as it is.",
    ),
    ICD11: OntologyLicence(
        name="CC BY-ND 3.0 IGO",
        text=(
            "International Classification of Diseases, Eleventh Revision (ICD-11), "
            "World Health Organization (WHO) 2019. Licensed under Creative Commons "
            "Attribution-NoDerivatives 3.0 IGO (CC BY-ND 3.0 IGO)."
        ),
        terms=(
            "Pass on verbatim copies only, with the citation; codes and titles may be named "
            "unchanged, an index stays on your machine."
        ),
    ),
}

_MAPPINGS: Mapping[str, OntologyLicence] = {
    "creativecommons.org/publicdomain/zero/1.0": OntologyLicence(
        name="CC0-1.0", text="", terms="No condition."
    ),
    "creativecommons.org/licenses/by/4.0": OntologyLicence(
        name="CC-BY-4.0",
        text="Mappings of {version}, licensed under CC BY 4.0.",
        terms="Name the source of the mappings.",
    ),
}


def licence_of(ontology: str, licence_url: str = "") -> OntologyLicence:
    """Return the terms of an ontology, or of a mapping table by the licence in its header.

    Args:
        ontology: ``hpo``, ``radlex``, ``icd11`` or ``sssom``.
        licence_url: licence named in the header of a mapping table; without one the terms are
            unknown.
    """
    if ontology != SSSOM:
        return LICENCES[ontology]
    for address, licence in _MAPPINGS.items():
        if address in licence_url:
            return licence
    return OntologyLicence(
        name=licence_url or "unknown", text="", terms="Read its terms before you pass it on."
    )
