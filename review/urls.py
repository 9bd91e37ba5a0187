"""Addresses of the review queue."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
