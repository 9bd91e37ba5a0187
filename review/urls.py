"""Addresses of the review queue."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from medrcube.review.views import (
    failures,
    home,
    me,
    mine,
    personal_data,
    pictures,
    reviewing,
    second_factor,
    sign_in,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("health/", home.health, name="health"),
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/code/", sign_in.code, name="sign-in-code"),
    path("sign-in/provider/", sign_in.at_provider, name="single-sign-on"),
    path("sign-in/provider/back/", sign_in.from_provider, name="single-sign-on-back"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("review/", reviewing.queue_page, name="queue"),
    path("review/mine/", mine.mine, name="mine"),
    path("review/<uuid:token>/", reviewing.review_page, name="review"),
    path("review/<uuid:token>/blind/", reviewing.answer, name="review-blind"),
    path("review/<uuid:token>/submit/", reviewing.submit, name="review-submit"),
    path("review/<uuid:token>/wording/", reviewing.wording, name="review-wording"),
    path("review/<uuid:token>/draft/", reviewing.draft, name="review-draft"),
    path("review/<uuid:token>/give-back/", reviewing.give_back, name="review-give-back"),
    path("review/<uuid:token>/undo/", mine.undo, name="review-undo"),
    path("review/<uuid:token>/personal-data/", personal_data.of_claim, name="review-personal-data"),
    path("pictures/<uuid:asset>/", pictures.picture, name="picture"),
    path("pictures/<uuid:asset>/drawn/", pictures.drawn, name="drawn"),
    path("pictures/<uuid:asset>/slices/<int:number>/", pictures.plane, name="slice"),
    path("me/", me.me, name="me"),
    path("me/second-factor/", second_factor.second_factor_page, name="second-factor"),
    path("keys/", me.keys, name="keys"),
    path("", include("medrcube.review.urls_managing")),
]
handler400 = failures.bad_request
handler403 = failures.forbidden
handler404 = failures.not_found
handler500 = failures.broken
