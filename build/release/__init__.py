"""Release writing: tables, metadata, licences, editions."""
