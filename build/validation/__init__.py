"""Everything that checks a release."""
