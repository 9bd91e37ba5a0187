"""From raw datasets to a release: read, slice, render, derive, compose, audit, release."""
