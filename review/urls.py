"""Addresses of the review queue."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from medrcube.review.views import error_pages, landing
from medrcube.review.views.account import second_factor, settings, sign_in
from medrcube.review.views.reviewing import images, own_reviews, personal_data, steps

urlpatterns: list[URLPattern | URLResolver] = [
    path("", landing.home, name="home"),
    path("health/", landing.health, name="health"),
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/code/", sign_in.code, name="sign-in-code"),
    path("sign-in/provider/", sign_in.at_provider, name="single-sign-on"),
    path("sign-in/provider/back/", sign_in.from_provider, name="single-sign-on-back"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("review/", steps.queue_page, name="queue"),
    path("review/mine/", own_reviews.mine, name="mine"),
    path("review/<uuid:token>/", steps.review_page, name="review"),
    path("review/<uuid:token>/blind/", steps.answer, name="review-blind"),
    path("review/<uuid:token>/submit/", steps.submit, name="review-submit"),
    path("review/<uuid:token>/wording/", steps.wording, name="review-wording"),
    path("review/<uuid:token>/draft/", steps.draft, name="review-draft"),
    path("review/<uuid:token>/give-back/", steps.give_back, name="review-give-back"),
    path("review/<uuid:token>/undo/", own_reviews.undo, name="review-undo"),
    path("review/<uuid:token>/personal-data/", personal_data.of_claim, name="review-personal-data"),
    path("pictures/<uuid:asset>/", images.picture, name="picture"),
    path("pictures/<uuid:asset>/drawn/", images.drawn, name="drawn"),
    path("pictures/<uuid:asset>/slices/<int:number>/", images.plane, name="slice"),
    path("me/", settings.me, name="me"),
    path("me/second-factor/", second_factor.second_factor_page, name="second-factor"),
    path("keys/", settings.keys, name="keys"),
    path("", include("medrcube.review.urls_managing")),
]
handler400 = error_pages.bad_request
handler403 = error_pages.forbidden
handler404 = error_pages.not_found
handler500 = error_pages.broken
