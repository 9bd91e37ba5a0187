"""SQLite schema of the ontology index, and its errors."""

from __future__ import annotations

from medrcube.errors import MedrcubeError

__all__ = ["APPLICATION", "INDEXES", "LABEL", "SCHEMA", "TABLES", "IndexFileError", "NoIndexError"]

APPLICATION = 0x6D724358
"""``PRAGMA application_id``: identifies a SQLite file as an ontology index."""

SCHEMA = 1
"""``PRAGMA user_version``: increased whenever a table or the spelling of names changes."""

LABEL = "LABEL"
"""Scope of the preferred name in the names table, in addition to the synonym scopes."""

TABLES = """
CREATE TABLE meta (item TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE edition (
    key INTEGER PRIMARY KEY, ontology TEXT NOT NULL, version TEXT NOT NULL, file TEXT NOT NULL,
    sha256 TEXT NOT NULL, licence TEXT NOT NULL, statement TEXT NOT NULL, remarks TEXT NOT NULL,
    concepts INTEGER NOT NULL, names INTEGER NOT NULL, obsolete INTEGER NOT NULL,
    mappings INTEGER NOT NULL);
CREATE TABLE concept (
    key INTEGER PRIMARY KEY, edition INTEGER NOT NULL, id TEXT NOT NULL, label TEXT NOT NULL,
    code TEXT NOT NULL, obsolete INTEGER NOT NULL, residual INTEGER NOT NULL,
    kind TEXT NOT NULL, chapter TEXT NOT NULL, consider TEXT NOT NULL, content REAL NOT NULL);
CREATE TABLE name (
    key INTEGER PRIMARY KEY, concept INTEGER NOT NULL, text TEXT NOT NULL,
    spelling TEXT NOT NULL, scope TEXT NOT NULL, type TEXT NOT NULL);
CREATE TABLE edge (
    child INTEGER NOT NULL, relation TEXT NOT NULL, parent INTEGER NOT NULL,
    PRIMARY KEY (child, relation, parent)) WITHOUT ROWID;
CREATE TABLE redirect (id TEXT PRIMARY KEY, concept INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE closure (
    concept INTEGER NOT NULL, ancestor INTEGER NOT NULL,
    PRIMARY KEY (concept, ancestor)) WITHOUT ROWID;
CREATE TABLE mapping (
    subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL,
    PRIMARY KEY (subject, predicate, object)) WITHOUT ROWID;
CREATE VIRTUAL TABLE fulltext USING fts5 (
    spelling, content='name', content_rowid='key',
    tokenize="unicode61 remove_diacritics 0 tokenchars '*'");
"""
"""The full-text index is over spellings, whose words are ASCII letters and digits, and ``T2*``."""

INDEXES = """
CREATE UNIQUE INDEX concept_id ON concept (id);
CREATE INDEX concept_code ON concept (code) WHERE code <> '';
CREATE INDEX name_spelling ON name (spelling);
CREATE INDEX name_concept ON name (concept);
CREATE INDEX edge_parent ON edge (parent, relation);
CREATE INDEX mapping_object ON mapping (object);
INSERT INTO fulltext (fulltext) VALUES ('rebuild');
INSERT INTO fulltext (fulltext) VALUES ('optimize');
"""


class IndexFileError(MedrcubeError):
    """The index file is missing, outdated, damaged, or not an index."""


class NoIndexError(IndexFileError):
    """The file is not an ontology index."""
