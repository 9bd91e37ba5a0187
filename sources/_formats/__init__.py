"""Readers of formats that several adapters share."""
