"""The original pixels of a picture: who sees them, and what is not told by them."""

import io
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.utils import timezone
from PIL import Image
from stage.drawings import numbered, phantom, png

from medrcube.build.regions.draw_shapes import draw_boxes
from medrcube.build.viewer.case_copies import plane_path
from medrcube.review.exchange.image_store import store_image
from medrcube.review.models import Claim
from medrcube.review.reviewing.steps import answer_blind
from medrcube.review.reviewing.submissions import BlindSubmission
from medrcube.review.visibility import originals

ANSWER = BlindSubmission(option=0, confidence=2, needs_image="yes", image_adequate=True)
MODALITY = "Modality Recognition"
VIEW = "View Recognition"


def status(client, claim, number=0):
    return client.get(f"/pictures/{claim.version.picture_id}/slices/{number}/").status_code


def test_a_slice_is_sent_as_it_lies_on_disk(take_claim):
    client, _, claim = take_claim(original={})
    reply = client.get(f"/pictures/{claim.version.picture_id}/slices/3/")
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(reply.content))), numbered()[3])
    assert reply["Content-Type"] == "image/png"
    assert reply["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize("number", [5, 99])
def test_a_slice_that_is_not_kept_is_not_found(take_claim, number):
    client, _, claim = take_claim(original={})
    assert status(client, claim, number) == 404


@pytest.mark.parametrize(
    ("role", "expected"),
    [("reviewer", 404), ("adjudicator", 200), ("manager", 200), ("administrator", 404)],
)
def test_others_see_slices_by_their_role(take_claim, signed_in, role, expected):
    _, _, claim = take_claim(original={})
    client, _ = signed_in(role)
    assert status(client, claim) == expected


def test_slices_are_shown_no_longer_than_the_picture(take_claim):
    client, _, claim = take_claim(original={})
    Claim.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert status(client, claim) == 404


def test_grey_values_do_not_answer_what_modality_it_is(take_claim):
    client, user, claim = take_claim(original={}, task=MODALITY)
    page = f"/review/{claim.token}/"
    assert status(client, claim) == 404
    assert b"HU" not in client.get(page).content
    answer_blind(claim.token, user, ANSWER)
    assert status(client, claim) == 200
    assert b"data-original" in client.get(page).content


def test_slices_beside_a_picture_do_not_answer_in_which_plane_it_lies(take_claim):
    client, user, claim = take_claim(original={}, task=VIEW)
    page = f"/review/{claim.token}/"
    assert status(client, claim) == 404
    assert b"data-original" not in client.get(page).content
    answer_blind(claim.token, user, ANSWER)
    assert status(client, claim) == 200
    assert b"data-original" in client.get(page).content


def test_a_film_can_be_windowed_before_its_view_is_named(take_claim):
    client, _, claim = take_claim(original={}, task=VIEW)
    picture = claim.version.picture
    picture.original = {**picture.original, "slices": picture.original["slices"][:1], "own": 0}
    picture.save()
    assert status(client, claim) == 200
    assert b"data-original" in client.get(f"/review/{claim.token}/").content


def test_a_page_names_no_file_of_a_copy(take_claim):
    client, _, claim = take_claim(original={})
    page = client.get(f"/review/{claim.token}/").content.decode()
    assert "data-original" in page
    assert not any(name in page for name in claim.version.picture.original["slices"])


def test_a_picture_of_eight_bits_has_no_buttons_of_a_viewer_copy(take_claim):
    client, _, claim = take_claim()
    page = client.get(f"/review/{claim.token}/").content.decode()
    assert "data-presets" not in page
    assert "data-brightness" in page


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"x")])
def test_a_copy_that_is_gone_or_changed_is_not_shown(take_claim, harm, caplog):
    client, _, claim = take_claim(original={})
    folder = Path(settings.FOLDER).parent / "viewer"
    harm(plane_path(folder, claim.version.picture.original["slices"][0]))
    assert status(client, claim) == 404
    assert "original pixels" in caplog.text


def test_what_is_drawn_is_seen_by_whoever_may_see_the_mark(take_claim):
    client, user, claim = take_claim(original={})
    address = f"/pictures/{claim.version.overlay_id}/drawn/"
    assert client.get(address).status_code == 404
    answer_blind(claim.token, user, ANSWER)
    layer = np.asarray(Image.open(io.BytesIO(client.get(address).content)))
    clean, marked = (
        np.asarray(phantom((320, 256), mark=mark)).astype(int) for mark in (False, True)
    )
    assert np.array_equal(layer[..., 3] == 255, (clean != marked).any(axis=2))


def test_digits_of_boxes_are_drawn_and_bright_tissue_is_not(database):
    grey = np.full((120, 140), 255, np.uint8)
    grey[:, :70] = 60
    marked = draw_boxes(grey, [(20, 40, 50, 70), (80, 40, 120, 90)])
    layer = np.asarray(
        Image.open(io.BytesIO(originals.mark_layer(store_image(png(Image.fromarray(marked))))))
    )
    is_drawn = layer[..., 3] == 255
    dark = is_drawn[:, :70] & (marked[:, :70] == 255).all(axis=2)
    assert dark.any()
    assert np.array_equal(is_drawn[:, :70], (marked != 60).any(axis=2)[:, :70])
    assert not is_drawn[50:80, 85:115].any()


def test_a_slice_past_the_end_writes_no_fault_to_the_log(signed_in, add_shown, caplog):
    version = add_shown(original={})
    client, _ = signed_in("manager")
    address = f"/pictures/{version.picture_id}/slices/"
    number = len(version.picture.original["slices"])
    assert client.get(f"{address}{number - 1}/").status_code == 200
    assert client.get(f"{address}{number}/").status_code == 404
    assert caplog.records == []
