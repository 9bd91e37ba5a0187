"""Models that can be evaluated: the protocol, the registry and the adapters."""

__all__ = [
    "endpoint_errors",
    "image_limits",
    "image_payload",
    "protocol",
    "registry",
    "settings",
    "single_request",
]
