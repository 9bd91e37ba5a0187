"""What is told of pictures that are short."""

from medrcube.build.reconstruction.outcomes import (
    PictureOutcome,
    Reconstruction,
    SourceOutcome,
    Status,
)


def source(name, *outcomes):
    return SourceOutcome(source=name, pictures=outcomes)


def outcome(status, number=0, detail="", stage=""):
    return PictureOutcome(
        image=f"A/pictures/{number}.png", status=status, detail=detail, stage=stage
    )


def test_pictures_that_are_short_for_one_reason_share_a_line():
    lost = [outcome(Status.NOT_RENDERED, n, "no mask", "overlay") for n in range(3)]
    done = Reconstruction(
        sources=(source("toy", outcome(Status.REBUILT, 9), *lost, outcome(Status.CASE_MISSING, 7)),)
    )
    assert done.short == 4
    assert list(done.reasons(5)) == [
        "case-missing  A/pictures/7.png: ",
        "not-rendered at overlay  A/pictures/0.png (and 2 more): no mask",
    ]


def test_reasons_beyond_the_most_are_counted():
    lost = [outcome(Status.NOT_RENDERED, n, f"reason {n}") for n in range(3)]
    lines = list(Reconstruction(sources=(source("toy", *lost),)).reasons(1))
    assert lines[0] == "not-rendered  A/pictures/0.png: reason 0"
    assert lines[1].startswith("not-rendered  2 more of toy")


def test_a_source_of_which_no_copy_was_named_is_named():
    done = Reconstruction(
        sources=(source("toy", outcome(Status.SOURCE_NOT_GIVEN)), source("whole"))
    )
    assert [entry.source for entry in done.not_given] == ["toy"]
    (line,) = done.reasons(5)
    assert "1 images of toy" in line
    assert "--source toy=ROOT" in line


def test_sources_of_which_no_copy_was_named_share_a_line():
    done = Reconstruction(
        sources=tuple(source(name, outcome(Status.SOURCE_NOT_GIVEN)) for name in "ab")
    )
    (line,) = done.reasons(5)
    assert "2 images of 2 sources" in line
    assert "--source ID=ROOT" in line
