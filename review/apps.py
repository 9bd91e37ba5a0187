"""Django application configuration."""

from django.apps import AppConfig

from medrcube.review.server.request_log import shorten_log


class ReviewConfig(AppConfig):
    """The review queue."""

    name = "medrcube.review"
    label = "review"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Shorten the log, whatever server runs the application."""
        shorten_log()
