"""XML guard: checks entities, nesting depth and well-formedness while a file is read.

The RDF parsers of rdflib and Oxigraph expand entities without limit and take quadratic time over
nested elements, so a file of a few hundred bytes can exhaust memory. RadLex and Protege declare
entities only for namespaces: short texts that contain no other entity.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO
from xml.parsers import expat

from medrcube.ontologies.concept_records import OntologyError

__all__ = ["GuardedXml"]

DEPTH = 64
ENTITIES = 1000
ENTITY_LENGTH = 512


class GuardedXml(io.RawIOBase):
    """Byte stream of an XML file, checked before the bytes are passed on.

    Reading raises ``OntologyError`` for XML that is not well-formed, nests deeper than ``DEPTH``,
    or declares an entity that references another one, is external, or is long.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path
        self._depth = 0
        self._entities = 0
        self._ended = False
        self._parser = expat.ParserCreate()
        self._parser.EntityDeclHandler = self._on_entity
        self._parser.StartElementHandler = self._on_start
        self._parser.EndElementHandler = self._on_end

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Pass on the next bytes after checking them."""
        if self._ended:
            return 0
        data = self._file.read(len(buffer))
        self._ended = not data
        try:
            self._parser.Parse(data, self._ended)
        except expat.ExpatError as error:
            raise OntologyError(
                f"{self._path} is not well-formed XML ({error}); get the file again"
            ) from error
        buffer[: len(data)] = data
        return len(data)

    def _on_entity(  # noqa: PLR0917 - expat's own signature
        self,
        name: str,
        is_parameter: bool,  # noqa: FBT001
        value: str | None,
        base: str | None,  # noqa: ARG002
        system_id: str,  # noqa: ARG002
        public_id: str | None,  # noqa: ARG002
        notation: str | None,  # noqa: ARG002
    ) -> None:
        self._entities += 1
        nested = value is not None and "&" in value
        long = value is not None and len(value) > ENTITY_LENGTH
        if is_parameter or value is None or nested or long or self._entities > ENTITIES:
            raise OntologyError(
                f"{self._path}: declares the XML entity {name!r}, which is long, lies outside the "
                "file or holds others; only short ones for namespaces are accepted: check where "
                "the file came from"
            )

    def _on_start(self, name: str, _attributes: object) -> None:
        self._depth += 1
        if self._depth > DEPTH:
            raise OntologyError(
                f"{self._path}: nests XML elements deeper than {DEPTH} (<{name}>); no ontology "
                "does: check where the file came from"
            )

    def _on_end(self, _name: str) -> None:
        self._depth -= 1
