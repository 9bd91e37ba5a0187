"""Editions of a release: public and private, and their Parquet files for the Hugging Face hub."""

__all__ = ["hugging_face", "hugging_face_private", "private_edition"]
