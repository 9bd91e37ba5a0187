import time
from email.utils import formatdate

import pytest

from medrcube.errors import ModelError
from medrcube.model_endpoint import checked_url, is_official, printable_line, retry_after, scrub


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0.0),
    ],
)
def test_the_wait_that_a_server_asks_for_is_read_in_each_form(headers, seconds):
    assert retry_after(headers) == seconds


def test_a_date_to_wait_for_is_turned_into_seconds():
    wait = retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)})
    assert wait == pytest.approx(60, abs=3)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://", ""])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ModelError, match="is not an address"):
        checked_url(url)


@pytest.mark.parametrize("url", ["http://me:hidden@host/v1", "https://host/v1?key=hidden"])
def test_an_address_with_a_secret_is_refused_and_not_repeated(url):
    with pytest.raises(ModelError) as excinfo:
        checked_url(url)
    assert "hidden" not in str(excinfo.value)


def test_an_address_has_one_form():
    assert checked_url("http://host:1/v1/") == "http://host:1/v1"


def test_only_the_official_host_is_official():
    assert is_official("https://api.openai.com/v1")
    assert not is_official("https://api.openai.com.example.org/v1")


def test_a_secret_is_cut_out_unless_it_is_a_common_word():
    assert scrub("a 0123456789 b", "0123456789") == "a [key] b"
    assert scrub("none of it", "none") == "none of it"
    assert scrub("text", "") == "text"


def test_a_server_speaks_on_one_short_line():
    assert printable_line("a\x1b[2J\r\n  b\u2028c") == "a [2J b c"
    assert len(printable_line("x" * 10_000)) == 300
