"""Batch APIs of providers, behind one protocol."""
