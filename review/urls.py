"""URL configuration of the review queue."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from medrcube.review.views import error_pages, landing
from medrcube.review.views.account import second_factor, settings, sign_in
from medrcube.review.views.reviewing import images, own_reviews, personal_data, steps

urlpatterns: list[URLPattern | URLResolver] = [
    path("", landing.home, name="home"),
    path("health/", landing.health, name="health"),
    path("sign-in/", sign_in.sign_in_page, name="sign-in"),
    path("sign-in/code/", sign_in.code_page, name="sign-in-code"),
    path("sign-in/provider/", sign_in.to_provider, name="single-sign-on"),
    path("sign-in/provider/back/", sign_in.from_provider, name="single-sign-on-back"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("review/", steps.queue_page, name="queue"),
    path("review/mine/", own_reviews.own_reviews_page, name="mine"),
    path("review/<uuid:token>/", steps.review_page, name="review"),
    path("review/<uuid:token>/blind/", steps.post_answer, name="review-blind"),
    path("review/<uuid:token>/submit/", steps.post_review, name="review-submit"),
    path("review/<uuid:token>/wording/", steps.post_wording_check, name="review-wording"),
    path("review/<uuid:token>/draft/", steps.post_draft, name="review-draft"),
    path("review/<uuid:token>/give-back/", steps.post_give_back, name="review-give-back"),
    path("review/<uuid:token>/undo/", own_reviews.post_undo, name="review-undo"),
    path("review/<uuid:token>/personal-data/", personal_data.of_claim, name="review-personal-data"),
    path("pictures/<uuid:asset>/", images.stored_image, name="picture"),
    path("pictures/<uuid:asset>/drawn/", images.mark_layer, name="drawn"),
    path("pictures/<uuid:asset>/slices/<int:number>/", images.slice_image, name="slice"),
    path("me/", settings.account_page, name="me"),
    path("me/second-factor/", second_factor.second_factor_page, name="second-factor"),
    path("keys/", settings.keys_page, name="keys"),
    path("", include("medrcube.review.urls_managing")),
]
handler400 = error_pages.bad_request
handler403 = error_pages.forbidden
handler404 = error_pages.not_found
handler500 = error_pages.server_error
