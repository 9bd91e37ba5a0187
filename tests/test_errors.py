from pathlib import Path

import pytest

from medrcube import errors
from medrcube.errors import failure_text, install_command


def failure(call, *arguments):
    with pytest.raises(Exception) as error:
        call(*arguments)
    return failure_text(error.value)


def test_a_missing_file_is_told_without_number_and_path(tmp_path):
    assert failure((tmp_path / "none").read_bytes) == "No such file or directory"


def test_text_in_another_encoding_is_told_by_its_line():
    content = "name\ncaf\u00e9\n".encode("latin-1")
    assert failure(content.decode) == "line 2 is not UTF-8; save the file as UTF-8 text"


def test_any_other_failure_keeps_its_words():
    assert failure(int, "x") == "invalid literal for int() with base 10: 'x'"
    assert failure_text(OSError("the disk is gone")) == "the disk is gone"


def test_in_a_checkout_the_extra_is_installed_from_its_folder(monkeypatch, tmp_path):
    assert "pip install --editable '.[review]'" in install_command("review")
    assert str(Path(errors.__file__).resolve().parents[1]) in install_command("review")
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "medrcube" / "errors.py"))
    assert install_command("review") == "pip install 'medrcube[review]'"
