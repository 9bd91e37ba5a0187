"""A run through the batch interface of a provider."""
