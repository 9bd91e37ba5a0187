"""Views for reviewers."""
