"""Batch interfaces of providers: what all of them promise."""
