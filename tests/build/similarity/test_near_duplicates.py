"""Copies of one picture are found; other pictures, other slices and marked copies are not."""

import itertools
import random
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.similarity import near_duplicates
from medrcube.build.similarity.hamming_pairs import pairs_within
from medrcube.build.similarity.near_duplicates import (
    LISTED,
    clean_pictures,
    find_duplicates,
    near_candidates,
)
from medrcube.build.similarity.thresholds import (
    LIKENESS,
    likeness,
    map_in_processes,
    read_small,
)
from medrcube.build.stages.samples import Sample
from medrcube.errors import ReleaseError
from medrcube.perceptual_hash import MAX_DISTANCE, dct_hashes, perceptual_hash

BLANK = dict.fromkeys(Sample.__dataclass_fields__, "")
MARK_NAMES = ("mask", "annotation", "2hc")
"""In names of masks, and of second pictures of a patient of HC18."""
NUMBERS = {"choices": 0, "area": 0.0, "regions": 0, "width": 1, "height": 1}


def scene(seed, size=256):
    """A picture with coarse shapes and fine texture, another one for every seed."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0 : 1 : size * 1j, 0 : 1 : size * 1j]
    waves = sum(
        rng.normal() / (1 + fx + fy) * np.cos(np.pi * (fx * x + fy * y) + rng.uniform(0, 6))
        for fx, fy in itertools.product(range(7), repeat=2)
    )
    grey = (waves - waves.min()) / np.ptp(waves) * 190 + rng.normal(0, 4, (size, size)) + 20
    return np.clip(grey, 0, 255).astype(np.uint8)


def brighter(grey):
    return np.clip(grey * 1.1 + 12, 0, 255).astype(np.uint8)


def cropped(grey, share=0.01):
    edge = round(len(grey) * share)
    return grey[edge:-edge, edge:-edge]


def halved(grey):
    size = (grey.shape[1] // 2, grey.shape[0] // 2)
    return np.asarray(Image.fromarray(grey).resize(size, Image.Resampling.BILINEAR))


def recoded(grey, folder):
    path = folder / "recoded.jpg"
    Image.fromarray(grey).save(path, quality=30)
    return np.asarray(Image.open(path))


@pytest.fixture
def picture(tmp_path):
    """Write a picture: ``picture("a", grey, source=...)`` gives its sample."""

    def write(name, grey, **changes):
        Image.fromarray(grey).save(tmp_path / f"{name}.png")
        values = {
            **BLANK,
            **NUMBERS,
            "id": name,
            "source": "toy",
            "case": name,
            "patient": name,
            "artefact": "clean",
            "image": f"{name}.png",
            "pixel_sha256": pixel_hash(grey),
            "perceptual_hash": perceptual_hash(grey),
            "redistribute": True,
        }
        return Sample(**{**values, **changes})

    return write


def brute_force(hashes, distance):
    return {
        (i, j, (a ^ b).bit_count())
        for (i, a), (j, b) in itertools.combinations(enumerate(hashes), 2)
        if (a ^ b).bit_count() <= distance
    }


def found_in(hashes, distance):
    pieces = pairs_within(np.array(hashes, np.uint64), distance)
    return [tuple(row) for piece in pieces for row in piece.tolist()]


@st.composite
def clustered(draw):
    """Hashes of which many lie near each other, at the bound above all."""
    distance = draw(st.integers(0, 10))
    hashes = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6))
    for _ in range(draw(st.integers(0, 25))):
        near = draw(st.sampled_from(hashes))
        for bit in draw(st.sets(st.integers(0, 63), max_size=distance + 2)):
            near ^= 1 << bit
        hashes.append(near)
    return hashes, distance


@pytest.mark.thorough
@given(clustered())
def test_the_index_finds_what_comparing_every_pair_finds_each_once(example):
    hashes, distance = example
    found_ins = found_in(hashes, distance)
    assert len(found_ins) == len(set(found_ins))
    assert set(found_ins) == brute_force(hashes, distance)


@pytest.mark.parametrize("distance", [-1, 21])
def test_a_distance_that_the_bands_cannot_hold_is_refused(distance):
    with pytest.raises(ValueError, match="expected 0 to 20"):
        found_in([1, 2], distance)


def test_many_equal_hashes_are_all_paired():
    assert len(found_in([7] * 60, 8)) == 60 * 59 // 2


@pytest.mark.thorough
def test_a_hundred_thousand_hashes_take_seconds_and_no_planted_pair_is_lost():
    lots = random.Random(5)
    hashes = [lots.getrandbits(64) for _ in range(100_000)]
    planted = set()
    for place in range(0, 2000, 2):
        bits = lots.sample(range(64), MAX_DISTANCE)
        hashes[place + 1] = hashes[place] ^ sum(1 << bit for bit in bits)
        planted.add((place, place + 1, MAX_DISTANCE))
    started = time.process_time()
    result = set(found_in(hashes, MAX_DISTANCE))
    assert time.process_time() - started < 40  # about two
    assert planted <= result


@pytest.mark.parametrize("change", [brighter, cropped, halved, recoded])
def test_a_changed_copy_under_another_patient_is_found(change, picture, tmp_path):
    grey = scene(1)
    copy = change(grey, tmp_path) if change is recoded else change(grey)
    pictures = [picture("a", grey), picture("b", copy)]
    (pair,) = find_duplicates(pictures, tmp_path).near
    assert pair.relation == "other patient"
    assert pair.distance <= MAX_DISTANCE
    assert pair.likeness >= LIKENESS


@pytest.mark.thorough
def test_pictures_of_other_patients_are_not_paired(picture, tmp_path):
    pictures = [picture(f"p{seed}", scene(seed)) for seed in range(40)]
    duplicates = find_duplicates(pictures, tmp_path)
    assert duplicates.near == ()
    assert duplicates.compared == 40


def test_near_hashes_alone_make_no_pair(picture, tmp_path):
    """One coarse shape brings two hashes together; what is finer tells the pictures apart."""
    stripes = 25 * np.cos(20 * np.pi * np.linspace(0, 1, 256))
    first, second = (
        (scene(1) * 0.6 + 50 + entry).astype(np.uint8) for entry in (stripes, -stripes)
    )
    duplicates = find_duplicates([picture("a", first), picture("b", second)], tmp_path)
    assert duplicates.candidates == 1
    assert duplicates.near == ()


def test_a_negative_is_not_alike():
    grey = np.stack([scene(1, 32), 255 - scene(1, 32)])
    assert likeness(grey, np.array([[0, 1]]))[0] == 0


def test_the_hash_does_not_know_size_or_brightness(picture, tmp_path):
    grey = scene(3)
    small = np.stack(
        [
            read_small(tmp_path / picture("a", grey).image),
            read_small(tmp_path / picture("b", np.repeat(grey, 2, axis=1)).image),
            read_small(tmp_path / picture("c", (grey // 2 + 60).astype(np.uint8)).image),
        ]
    )
    hashes = [int(value) for value in dct_hashes(small)]
    assert hashes[0] == hashes[1]
    assert (hashes[0] ^ hashes[2]).bit_count() <= 2
    assert 24 <= hashes[0].bit_count() <= 32


def test_pictures_of_one_case_are_not_compared(picture, tmp_path):
    grey = scene(1)
    pictures = [picture("a", grey, case="c"), picture("b", brighter(grey), case="c")]
    assert find_duplicates(pictures, tmp_path).candidates == 0


@pytest.mark.parametrize(
    ("changes", "relation"),
    [
        ({"source": "other", "patient": "p"}, "other source"),
        ({"patient": "q"}, "other patient"),
        ({"patient": ""}, "patient not known"),
        ({"patient": "p"}, "same patient"),
    ],
)
def test_a_pair_says_what_its_pictures_have_to_do_with_each_other(
    changes, relation, picture, tmp_path
):
    grey = scene(1)
    pictures = [picture("a", grey, patient="p"), picture("b", brighter(grey), **changes)]
    duplicates = find_duplicates(pictures, tmp_path)
    assert [pair.relation for pair in duplicates.near] == [relation]
    assert duplicates.as_dict()["near"]["by_relation"][relation] == 1


def test_equal_pictures_are_exact_duplicates_and_no_pair(picture, tmp_path):
    grey = scene(1)
    pictures = [picture("a", grey), picture("b", grey, source="other")]
    duplicates = find_duplicates(pictures, tmp_path)
    assert duplicates.near == ()
    assert duplicates.compared == 1
    exact = duplicates.as_dict()["exact"]
    assert exact == {"groups": 1, "cases": 2, "across_sources": 1, "across_patients": 1}


def test_other_sources_stand_before_nearer_pairs_of_one(picture, tmp_path):
    grey = scene(1)
    pictures = [
        picture("a", grey),
        picture("b", brighter(grey)),
        picture("c", cropped(grey, 0.015), source="other"),
    ]
    relations = [pair.relation for pair in find_duplicates(pictures, tmp_path).near]
    assert relations[0] == "other source"
    assert relations[-1] == "other patient"


def test_marked_copies_stand_for_their_clean_picture(picture):
    grey = scene(1)
    clean = picture("clean", grey, case="c", frames="3")
    boxes = picture("boxes", grey, case="c", frames="3", artefact="boxes")
    outline = picture("outline", grey, case="c", frames="3", artefact="outline")
    slice_of_it = picture("slice", grey, case="c", frames="4")
    others = [clean, boxes, outline, slice_of_it]
    assert clean_pictures(others, [boxes, outline]) == [clean]


def test_the_audit_names_so_many_pairs_and_counts_all(picture, tmp_path):
    grey = scene(1, 64)
    pictures = [
        picture(f"p{shade:02}", (grey // 2 + shade).astype(np.uint8)) for shade in range(24)
    ]
    near = find_duplicates(pictures, tmp_path).as_dict()["near"]
    assert near["pairs"] == 24 * 23 // 2 > LISTED
    assert len(near["listed"]) == LISTED
    assert near["pictures"] == 24
    assert near["all_compared"] is True


def test_more_candidates_than_can_be_compared_are_said_to_be_more(picture, tmp_path, monkeypatch):
    monkeypatch.setattr(near_duplicates, "MOST_COMPARED", 10)
    grey = scene(1, 64)
    pictures = [
        picture(f"p{shade:02}", (grey // 2 + shade).astype(np.uint8)) for shade in range(12)
    ]
    near = find_duplicates(pictures, tmp_path).as_dict()["near"]
    assert near["all_compared"] is False
    assert 0 < near["candidates"] <= 11


@pytest.mark.parametrize("cases", [1, 2, 3000])
def test_no_more_pairs_of_one_hash_are_held_than_are_compared(cases, monkeypatch):
    monkeypatch.setattr(near_duplicates, "MOST_COMPARED", 1000)
    blank = Sample(**{**BLANK, **NUMBERS, "source": "toy", "perceptual_hash": "7"})
    pictures = [replace(blank, id=str(n), case=str(max(0, n - 3000 + cases))) for n in range(3000)]
    tracemalloc.start()
    pairs, whole = near_candidates(pictures)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(pairs), whole) == ((0, True) if cases == 1 else (1000, False))
    assert peak < 5e6


def test_several_processes_find_the_same(picture, tmp_path):
    pictures = [
        picture(f"p{seed:02}", scene(seed % 60, 48)[: 48 - seed // 60]) for seed in range(70)
    ]
    alone, together = (find_duplicates(pictures, tmp_path, workers) for workers in (1, 2))
    assert alone == together
    assert alone.near


@pytest.mark.parametrize("content", [None, b"", b"no picture", b"\x89PNG\r\n\x1a\n"])
def test_a_missing_or_damaged_picture_is_an_error(content, picture, tmp_path):
    pictures = [picture("a", scene(1)), picture("b", brighter(scene(1)))]
    path = tmp_path / pictures[0].image
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(ReleaseError, match=r"a\.png: cannot be read as an image"):
        find_duplicates(pictures, tmp_path)


@pytest.mark.thorough
def test_only_pictures_whose_hashes_lie_near_are_read(picture, tmp_path):
    """What makes 100,000 pictures of any size a matter of seconds."""
    far = [picture(f"p{seed}", scene(seed)) for seed in range(2, 20)]
    for sample in far:
        (tmp_path / sample.image).unlink()
    pictures = [*far, picture("a", scene(1)), picture("b", brighter(scene(1)))]
    duplicates = find_duplicates(pictures, tmp_path)
    assert (duplicates.compared, len(duplicates.near)) == (20, 1)


@pytest.mark.thorough
def test_a_hundred_thousand_pictures_take_under_a_minute(picture, tmp_path):
    lots = random.Random(5)
    alike = [picture("a", scene(1)), picture("b", brighter(scene(1)))]
    pictures = [
        replace(
            alike[0],
            id=f"p{number}",
            case=f"p{number}",
            pixel_sha256=f"{number:064x}",
            perceptual_hash=f"{lots.getrandbits(64):016x}",
        )
        for number in range(100_000)
    ]
    started = time.process_time()
    duplicates = find_duplicates([*pictures, *alike], tmp_path)
    assert time.process_time() - started < 60  # ten seconds where nothing else is going on
    assert {"a", "b"} in [{entry.id for entry in pair.pictures} for pair in duplicates.near]
    assert duplicates.compared == 100_002


def test_no_pictures_are_no_duplicates(tmp_path):
    duplicates = find_duplicates([], tmp_path)
    assert (duplicates.compared, duplicates.exact, duplicates.near) == (0, [], ())


@pytest.mark.thorough
def test_a_killed_process_is_an_error_not_a_wait():
    with pytest.raises(ReleaseError, match="was killed"):
        map_in_processes(_die, range(100), 2)


def _die(_number):
    import os  # noqa: PLC0415  # in the process that is to die

    os._exit(1)


@pytest.mark.real
def test_real_pictures_of_different_patients_are_not_paired_and_their_copies_are(
    real_raw, tmp_path
):
    folders = ("Dataset_BUSI_with_GT", "HC18", "covid-chestxray-dataset")
    files = [
        path
        for folder in folders
        for path in sorted((real_raw / folder).rglob("*.*"))
        if path.suffix.lower() in {".png", ".jpg", ".jpeg"}
        and not any(word in path.as_posix().lower() for word in MARK_NAMES)
    ]
    small = np.stack([read_small(path) for path in files])
    hashes = dct_hashes(small)
    assert len(files) > 30
    pairs = list(pairs_within(hashes, MAX_DISTANCE))
    assert not pairs
    for path, hashed in zip(files, hashes, strict=True):
        copy = tmp_path / "copy.jpg"
        grey = cropped(brighter(np.asarray(Image.open(path).convert("L"))))
        Image.fromarray(grey).save(copy, quality=60)
        again = read_small(copy)
        assert int(np.bitwise_count(dct_hashes(again[None])[0] ^ hashed)) <= MAX_DISTANCE + 2
        both = np.stack([read_small(path), again])
        assert likeness(both, np.array([[0, 1]]))[0] >= LIKENESS - 0.01
