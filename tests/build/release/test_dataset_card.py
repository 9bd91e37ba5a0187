"""The card of a release, and the licences beside it."""


def test_each_source_has_a_row_with_its_licence_and_counts(editions):
    for name in ("README.md", "LICENSE.md"):
        rows = (editions[0] / name).read_text().splitlines()
        (busi,) = (row for row in rows if row.startswith("| `BUSI`"))
        (vindr,) = (row for row in rows if row.startswith("| `VINDR-CXR`"))
        assert "| LicenseRef-BUSI | yes |" in busi
        assert "| LicenseRef-PhysioNet-Credentialed | no |" in vindr
    pictures = len(list(editions[1].glob("VINDR-CXR/pictures/*/*.png")))
    row = next(
        line
        for line in (editions[0] / "README.md").read_text().splitlines()
        if line.startswith("| `VINDR-CXR`")
    )
    assert row.endswith(f"| {pictures} | {pictures} |")


def test_a_source_of_which_only_some_pictures_may_be_passed_on_says_so(edition):
    assert "| some |" in (edition() / "README.md").read_text()


def test_the_way_to_withheld_pictures_is_told_for_the_sources_that_have_any(editions):
    text = (editions[0] / "README.md").read_text()
    assert "medrcube reconstruct RELEASE \\\n    --source vindr-cxr=" in text
    assert "--source busi=" not in text
    assert "1. Get credentialed access on PhysioNet" in text


def test_no_way_is_told_where_nothing_is_withheld(release_all):
    text = (release_all(barred=False) / "README.md").read_text()
    assert "medrcube reconstruct RELEASE" not in text


def test_known_faults_of_the_sources_are_told(editions):
    text = (editions[0] / "README.md").read_text()
    undiagnosed = "- kept without questions about diagnoses and lesions: the two images are pixel-"
    assert undiagnosed in text
    assert "have not been accepted by a clinician" in text


def test_both_editions_have_the_same_texts(editions):
    public, private = editions
    for name in ("README.md", "LICENSE.md", "CITATION.bib", "croissant.json"):
        assert (public / name).read_bytes() == (private / name).read_bytes()


def test_the_licences_say_of_each_source_what_is_known_and_claim_no_terms_for_it(editions):
    text = (editions[0] / "LICENSE.md").read_text()
    assert "- `BUSI`: CC BY 4.0 (see https://example.org). Not known: any terms of use: " in text
    (entry,) = (line for line in text.splitlines() if line.startswith("- `VINDR-CXR`"))
    assert "No licence text or statement by the owner has been seen. Not known: " in entry
    assert "stated on the page" not in text


def test_answers_of_a_source_under_an_agreement_are_said_to_derive_from_its_labels(
    editions, release_all
):
    text = (editions[0] / "LICENSE.md").read_text()
    assert "which may cover them too: VINDR-CXR.\n" in text
    assert "may cover them too" not in (release_all(barred=False) / "LICENSE.md").read_text()
