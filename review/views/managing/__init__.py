"""Pages for adjudicators, managers and administrators."""
