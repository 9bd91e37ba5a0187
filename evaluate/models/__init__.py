"""Models that can be evaluated: the protocol, the registry and the adapters."""
