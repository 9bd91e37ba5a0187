"""Names of files that no case uses: what the publisher did not write is shown as its shape."""

import pytest

from medrcube.sources._framework.raw_tree.public_names import PublicNames

USED = ("images/case_0001_t1.png", "images/case_0002_t1.png", "scans/1.2.840.99.10.3/1.dcm")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("images/case_0009_t1.png", "images/case_0009_t1.png"),
        ("scans/1.2.84.9.7.12/1.dcm", "scans/1.2.84.9.7.12/1.dcm"),
        ("images/Case_0001.txt", "images/Case_0001.txt"),
        ("images/Zyxwvut.txt", "images/(like Xxxxxxx, no. 2 of 2).txt"),
        ("images/zyxwvut_t1.png", "images/(like xxxxxxx_x9, no. 1 of 2).png"),
        ("images/19310704.png", "images/(like 99999999, no. 1 of 2).png"),
        ("Zyxwvut Gertrude/1.png", "(like Xxxxxxx Xxxxxxxx, no. 1 of 3)/1.png"),
        ("images/case_1.Zyxwvut", "images/(like xxxx_9.Xxxxxxx, no. 1 of 1)"),
        ("fixed/Notes_20310101.xml", "fixed/Notes_20310101.xml"),
        (f"images/{'0a1b2c3d' * 4}.png", f"images/{'0a1b2c3d' * 4}.png"),
    ],
)
def test_a_part_is_shown_only_if_it_is_made_of_published_names(name, form):
    beside = ("images/Anna.txt", "images/zz.png", "scans/a.txt")
    names = sorted({*beside, name})
    public = PublicNames(names, USED, ("images/*.png", "fixed/Notes_20310101.xml"), ())
    assert public.describe_file(name) == form


def test_a_text_about_a_file_loses_its_name():
    name = "images/Zyxwvut_Gertrude.png"
    public = PublicNames((name,), USED, (), ())
    text = f"{name}: Zyxwvut_Gertrude.png is no case_9 (Zyxwvut_Gertrude)"
    assert public.replace_names(text, [name]) == (
        "images/(like Xxxxxxx_Xxxxxxxx, no. 1 of 1).png: (like Xxxxxxx_Xxxxxxxx, no. 1 of 1).png "
        "is no case_9 ((like Xxxxxxx_Xxxxxxxx, no. 1 of 1))"
    )
