"""What is told of pictures that are short."""

from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.reconstruction.outcomes import (
    PictureOutcome,
    RawFileDifference,
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
    reconstruction = Reconstruction(
        sources=(source("toy", outcome(Status.REBUILT, 9), *lost, outcome(Status.CASE_MISSING, 7)),)
    )
    assert reconstruction.short == 4
    assert list(reconstruction.reasons(5)) == [
        "case-missing  A/pictures/7.png: ",
        "not-rendered at overlay  A/pictures/0.png (and 2 more): no mask",
    ]


def test_reasons_beyond_the_most_are_counted():
    lost = [outcome(Status.NOT_RENDERED, n, f"reason {n}") for n in range(3)]
    lines = list(Reconstruction(sources=(source("toy", *lost),)).reasons(1))
    assert lines[0] == "not-rendered  A/pictures/0.png: reason 0"
    assert lines[1].startswith("not-rendered  2 more of toy")


def test_a_source_of_which_no_copy_was_named_is_named():
    reconstruction = Reconstruction(
        sources=(source("toy", outcome(Status.SOURCE_NOT_GIVEN)), source("whole"))
    )
    assert [entry.source for entry in reconstruction.not_given] == ["toy"]
    (line,) = reconstruction.reasons(5)
    assert "1 images of toy" in line
    assert "--source toy=ROOT" in line


def test_sources_of_which_no_copy_was_named_share_a_line():
    reconstruction = Reconstruction(
        sources=tuple(source(name, outcome(Status.SOURCE_NOT_GIVEN)) for name in "ab")
    )
    (line,) = reconstruction.reasons(5)
    assert "2 images of 2 sources" in line
    assert "--source ID=ROOT" in line


@given(statuses=st.lists(st.sampled_from(Status), max_size=20))
def test_counts_go_in_the_order_of_statuses_and_add_up(statuses):
    source_outcome = source("toy", *(outcome(status, n) for n, status in enumerate(statuses)))
    assert list(source_outcome.counts) == [status for status in Status if status in statuses]
    assert sum(source_outcome.counts.values()) == len(statuses)
    there = {"already-there", "rebuilt", "there-unproved", "placed-by-name"}
    assert source_outcome.short == sum(status.value not in there for status in statuses)
    assert (
        Reconstruction(sources=(source_outcome, source_outcome)).short == 2 * source_outcome.short
    )


@given(kinds=st.lists(st.integers(0, 5), min_size=1, max_size=20), most=st.integers(1, 7))
def test_the_lines_of_a_reason_speak_of_every_picture(kinds, most):
    lost = [outcome(Status.CASE_MISSING, n, f"reason {kind}") for n, kind in enumerate(kinds)]
    lines = list(Reconstruction(sources=(source("toy", *lost),)).reasons(most))
    reasons = list(dict.fromkeys(kinds))
    for kind, line in zip(reasons[:most], lines, strict=False):
        more = kinds.count(kind) - 1
        text = f" (and {more} more)" if more else ""
        first = kinds.index(kind)
        assert line == f"case-missing  A/pictures/{first}.png{text}: reason {kind}"
    rest = sum(kinds.count(kind) for kind in reasons[most:])
    assert len(lines) == min(most, len(reasons)) + bool(rest)
    if rest:
        assert lines[-1] == f"case-missing  {rest} more of toy; --report FILE names them all"


def test_pictures_that_lie_in_the_tree_need_no_reason():
    there = (Status.ALREADY_THERE, Status.REBUILT, Status.THERE_UNPROVED, Status.PLACED_BY_NAME)
    source_outcome = source("toy", *(outcome(status, n) for n, status in enumerate(there)))
    assert not list(Reconstruction(sources=(source_outcome,)).reasons(5))
    assert Reconstruction(sources=(source_outcome,)).short == 0


def test_the_report_for_programs_leaves_out_what_is_empty():
    raw = RawFileDifference(name="a.png", recorded="0", found=None)
    lost = PictureOutcome(
        image="A/pictures/0.png", status=Status.RAW_FILE_MISSING, case="g", raw=(raw,)
    )
    source_outcome = SourceOutcome(source="toy", pictures=(lost,), notes=("note",))
    assert Reconstruction(sources=(source_outcome,)).as_dict() == {
        "short": 1,
        "sources": {
            "toy": {
                "counts": {"raw-file-missing": 1},
                "notes": ["note"],
                "pictures": [
                    {
                        "image": "A/pictures/0.png",
                        "status": "raw-file-missing",
                        "case": "g",
                        "raw": [{"name": "a.png", "recorded": "0"}],
                    }
                ],
            }
        },
    }


def test_one_source_of_which_no_copy_was_named_is_named_among_others():
    lost = [outcome(Status.SOURCE_NOT_GIVEN, n) for n in range(1200)]
    (line,) = Reconstruction(
        sources=(source("toy", *lost), source("b", outcome(Status.REBUILT)))
    ).reasons(1)
    assert line == (
        "source-not-given  1,200 images of toy: name your own copy:  --source toy=ROOT; "
        "how to get one:  medrcube sources show toy"
    )
