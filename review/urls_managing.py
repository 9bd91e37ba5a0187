"""URL configuration for adjudicators, managers and administrators."""

from __future__ import annotations

from django.urls import URLPattern, path

from medrcube.review.views.managing import (
    accounts,
    adjudication,
    assignments,
    audit_trail,
    dashboards,
    items,
    quarantine,
    reviewer_figures,
)
from medrcube.review.views.reviewing import personal_data

urlpatterns: list[URLPattern] = [
    path("items/", items.items_page, name="items"),
    path("items/<str:item>/", items.item_page, name="item"),
    path("items/<str:item>/edit/", items.edit_page, name="item-edit"),
    path("items/<str:item>/gold/", items.gold_page, name="item-gold"),
    path("items/<str:item>/personal-data/", personal_data.of_item, name="item-personal-data"),
    path("adjudication/", adjudication.adjudication_list, name="adjudication"),
    path("adjudication/<str:item>/", adjudication.adjudication_page, name="adjudicate"),
    path("quarantine/", quarantine.quarantine_page, name="quarantine"),
    path("incidents/<int:incident>/", quarantine.post_incident_decision, name="incident"),
    path("quarantine/<str:item>/", quarantine.post_decision, name="quarantine-decide"),
    path("dashboard/", dashboards.progress_page, name="dashboard"),
    path("dashboard/agreement/", dashboards.agreement_page, name="agreement"),
    path("assignment/", assignments.assignments_page, name="assigning"),
    path("dashboard/reviewers/", reviewer_figures.reviewers_page, name="reviewers"),
    path("people/", accounts.accounts_page, name="people"),
    path("people/<int:user>/", accounts.account_page, name="person"),
    path("trail/", audit_trail.trail_page, name="trail"),
]
