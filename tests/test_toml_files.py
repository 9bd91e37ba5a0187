"""Files that people write in TOML: saved by any editor, refused with file and line."""

import pytest

from medrcube.build.profile.profile import load_profile
from medrcube.errors import MedrcubeError
from medrcube.files.toml_reader import TomlTable, read_toml
from medrcube.sources._framework.card import load_card
from medrcube.tasks.declaration import load_task
from medrcube.vocabulary.layers import using_vocabulary
from medrcube.workspace import open_workspace

LATIN_1 = "title = 'caf\u00e9'\n".encode("latin-1")
READERS = {
    "medrcube.toml": open_workspace,
    "card.toml": lambda folder: load_card(folder / "card.toml"),
    "task.toml": lambda folder: load_task(folder, ()),
    "profile.toml": lambda folder: load_profile(str(folder / "profile.toml")),
    "words.toml": lambda folder: using_vocabulary([folder]).__enter__(),
}


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes('\ufeffname = "café"\r\n'.encode())
    assert read_toml(path, MedrcubeError) == {"name": "café"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a = 1\nname = 'café'\n".encode("latin-1"), "line 2 is not UTF-8; save the file as UTF-8"),
        (b"\xff\xfea\x00", "line 1 is not UTF-8"),
        (b"a = 1\nb = \n", "is not valid TOML: Invalid value (at line 2"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_is_no_toml_is_refused_by_name_and_line(tmp_path, content, says):
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(MedrcubeError) as error:
        read_toml(path, MedrcubeError)
    assert str(error.value).startswith(str(path))
    assert says in str(error.value)


@pytest.mark.parametrize("name", READERS)
def test_a_file_saved_in_another_encoding_is_refused_by_every_reader(tmp_path, name):
    (tmp_path / name).write_bytes(LATIN_1)
    with pytest.raises(MedrcubeError, match=rf"{name} is not valid TOML: line 1 is not UTF-8"):
        READERS[name](tmp_path)


def test_a_key_of_another_table_is_told_where_it_belongs(tmp_path):
    table = TomlTable(tmp_path / "m.toml", {"even_keys": True, "build": {}})
    table.table("build").flag("even_keys", default=True)
    with pytest.raises(MedrcubeError, match=r"'even_keys'; it belongs in \[build\]"):
        table.finish()
