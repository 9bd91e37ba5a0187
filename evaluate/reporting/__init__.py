"""Parts of a report: pure functions from scored runs to template values."""
