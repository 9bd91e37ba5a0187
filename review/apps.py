"""The application as Django knows it."""

from django.apps import AppConfig


class ReviewConfig(AppConfig):
    """The review queue."""

    name = "medrcube.review"
    label = "review"
    default_auto_field = "django.db.models.BigAutoField"
