"""Ontology readers, one module per file format.

Every reader has one public function, ``read(path, *, version="")``. Readers are imported on demand,
since pronto and rdflib are extras and slow to import.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from medrcube.ontologies.concept_records import HPO, ICD11, RADLEX, SSSOM, Ontology, OntologyError
from medrcube.ontologies.readers.bounded_files import open_bytes
from medrcube.ontologies.readers.detect_format import HEAD, Format, format_of

__all__ = ["detect", "edition_metadata", "open_ontology"]

_ACCEPTED: Mapping[str, str] = {
    HPO: "HPO as OBO (hp.obo)",
    RADLEX: (
        "RadLex as RDF/XML (RadLex.owl, root element <rdf:RDF>), as RSNA's table of term, RID and "
        "parent, or as BioPortal's CSV"
    ),
    ICD11: (
        "ICD-11 as WHO's SimpleTabulation or LinearizationMiniOutput table or as JSON-LD of the "
        "ICD-API"
    ),
    SSSOM: "mappings as SSSOM",
}
_MODULES: Mapping[Format, str] = {
    Format.OBO: "hpo_obo",
    Format.RDF_XML: "radlex_rdf",
    Format.RADLEX_TABLE: "radlex_table",
    Format.BIOPORTAL: "radlex_bioportal",
    Format.ICD_TABLE: "icd_table",
    Format.ICD_API: "icd_api",
    Format.SSSOM: "sssom",
}


class OntologyReader(Protocol):
    """Interface of the modules of this package."""

    def read(self, path: Path, *, version: str = "") -> Ontology:
        """Read one file; ``version`` overrides what the file states."""
        ...


def open_ontology(path: Path, ontology: str | None = None, *, version: str = "") -> Ontology:
    """Read an ontology or mapping table; the format is detected by content, not by file name.

    Args:
        path: the file, plain or in gzip or zip, or a folder of ICD-API entities (``.json``).
        ontology: what it must contain (``hpo``, ``radlex``, ``icd11``, ``sssom``); ``None`` accepts
            any.
        version: version, overriding what the file states.

    Raises:
        OntologyError: the file is damaged, of unknown format, or contains a different ontology.
        MissingExtraError: the format needs a package that is not installed.
    """
    file_format = detect(path, ontology)
    if ontology is not None and file_format.ontology != ontology:
        raise OntologyError(
            f"{path}: is {file_format}, a format of {file_format.ontology}; expected "
            f"{_accepted(ontology)}: give another file, or pass this one as "
            f"{file_format.ontology}"
        )
    reader = cast("OntologyReader", import_module(f"{__name__}.{_MODULES[file_format]}"))
    return reader.read(path, version=version)


def detect(path: Path, ontology: str | None = None) -> Format:
    """Detect the format of a readable file or folder.

    Args:
        path: the file or folder.
        ontology: the ontology it should contain, for error messages; ``None`` lists all formats.

    Raises:
        OntologyError: the format is unknown or cannot be read.
    """
    if path.is_dir():
        if not any(path.glob("*.json")):
            raise OntologyError(
                f"{path}: is a folder without .json files; expected a file, or a folder with one "
                "ICD-API entity in each .json file"
            )
        return Format.ICD_API
    with open_bytes(path) as file:
        file_format = format_of(file.read(HEAD))
    if file_format is Format.OWL_XML:
        raise OntologyError(
            f"{path}: is OWL/XML (root element <Ontology>), which is not supported; "
            f"expected {_accepted(ontology)}: get that edition, or convert the file with Protege"
        )
    if not isinstance(file_format, Format):
        raise OntologyError(f"{path}: found {file_format}; expected {_accepted(ontology)}")
    return file_format


def _accepted(ontology: str | None) -> str:
    if ontology is None:
        return f"one of: {'; '.join(_ACCEPTED.values())}"
    return _ACCEPTED[ontology]
