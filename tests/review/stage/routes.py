"""Every address of the application, read from Django's resolver and not from a list of ours."""

from django.urls import URLPattern, get_resolver


def every_route():
    """Name -> view of every address; a nameless one has its pattern for a name."""
    return dict(_walk(get_resolver().url_patterns))


def _walk(patterns):
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            yield pattern.name or str(pattern.pattern), pattern.callback
        else:
            yield from _walk(pattern.url_patterns)
