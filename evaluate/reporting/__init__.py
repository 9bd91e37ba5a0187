"""The parts of a report, each a few pure functions from scored runs to what a template shows."""
