"""Tiny checkpoints of published families of models, made without a download."""
