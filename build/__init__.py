"""Build pipeline: raw datasets to images, items and a release."""
