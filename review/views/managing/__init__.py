"""Views for adjudicators, managers and administrators."""
