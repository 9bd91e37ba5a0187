"""Pictures and static files as an attacker asks for them: raw bytes to the real server."""

import shutil
import socket
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.conf import settings
from stage.drawings import slice_picture
from stage.servers import serving

from medrcube.review.exchange import image_store
from medrcube.review.models import Asset

SECRET = b"ZQSECRET"


@pytest.fixture
def ask(world, database):
    """Send a request line as it stands, with the reviewer's session: gives status and body."""
    (database.folder / "secret.key").write_bytes(SECRET)
    (database.folder / "assets2").mkdir()
    (database.folder / "assets2" / "x.png").write_bytes(SECRET)
    cookie = world.client("reviewer").cookies[settings.SESSION_COOKIE_NAME].value
    with serving() as address:
        at = urlsplit(address)

        def send(target):
            line = f"GET {target} HTTP/1.1".encode("latin-1")
            head = f"Host: {at.netloc}\r\nConnection: close\r\nCookie: sessionid={cookie}\r\n\r\n"
            with socket.create_connection((at.hostname, at.port), timeout=120) as wire:
                wire.sendall(line + b"\r\n" + head.encode())
                reply = b"".join(iter(lambda: wire.recv(65536), b""))
            return int(reply.split(b" ", 2)[1]), reply.partition(b"\r\n\r\n")[2]

        yield send


UP = (
    "..", "../", "../secret.key", "../../secret.key", "..%2fsecret.key", "%2e%2e%2fsecret.key",
    "%2e%2e/secret.key", ".%2e/secret.key", "%252e%252e%252fsecret.key", "..%5csecret.key",
    "..\\secret.key", "%2e%2e%5csecret.key", "....//secret.key", "..;/secret.key",
    "..%c0%afsecret.key", "%c0%ae%c0%ae/secret.key", "..%00/secret.key", "/secret.key",
    "./../secret.key", "x/../../secret.key",
)  # fmt: skip
ABSOLUTE = (
    "/etc/passwd", "%2fetc%2fpasswd", "//etc/passwd", "file:///etc/passwd",
    "c:%5cwindows%5cwin.ini", "C:/windows/win.ini", "%5c%5cserver%5cshare%5cx.png",
    "\\\\server\\share\\x.png",
)  # fmt: skip
SIBLING = ("../assets2/x.png", "%2e%2e%2fassets2%2fx.png", "assets2/x.png", "2/x.png")
DEVICES = ("con", "CON", "nul", "NUL.png", "aux", "prn.png", "com1", "COM1.png", "lpt1", "con.%20")
SIGNS = ("%00", "x%00.png", "%0d%0aX-Evil:%201", "%ff%fe", "*", "?", "%", "%zz", "~", "~root", "-")


@pytest.mark.few(2)
@pytest.mark.parametrize("paths", [UP, ABSOLUTE, SIBLING, DEVICES, SIGNS])
def test_no_path_leads_to_a_file(ask, world, paths):
    below = ("/pictures/{}", "/pictures/{}/", f"/pictures/{world.picture}/{{}}")
    below += ("/static/{}", "/static/review/{}", "/static/review/../{}")
    for target in (form.format(path) for path in paths for form in below):
        status, body = ask(target)
        mine = status == 200 and target.endswith("/?") and body.startswith(b"\x89PNG")
        assert mine or status in (400, 404), target
        assert SECRET not in body
        assert b"root:" not in body


@pytest.mark.parametrize(
    "form",
    ["{0}.png", "{1}", "{{{0}}}", "urn:uuid:{0}", "%7b{0}%7d", "{2}", "{0}%00", "0{0}", "{0}%20"],
)
def test_only_the_id_as_it_was_given_names_a_picture(ask, world, form):
    ids = (world.picture, world.picture.replace("-", ""), world.picture.upper())
    assert ask(f"/pictures/{ids[0]}/")[0] == 200
    if form.format(*ids) == ids[0]:
        return
    assert ask(f"/pictures/{form.format(*ids)}/")[0] in (400, 404)


@pytest.mark.parametrize("near", ["/picture/{}/", "/picturess/{}/", "/static/{}"])
def test_a_picture_is_under_its_one_address(ask, world, near):
    assert ask(near.format(world.picture))[0] == 404


def test_pictures_of_others_and_unknown_ones_look_the_same(ask, world):
    orphan = image_store.store_image(slice_picture((40, 40)))
    names = (world.foreign, world.overlay, str(orphan.pk), str(uuid4()))
    replies = [ask(f"/pictures/{name}/") for name in names]
    assert [status for status, _ in replies] == [404] * len(names)
    assert len({len(body) for _, body in replies}) == 1


@pytest.mark.parametrize(
    "digest", ["../../secret.key", "/etc/passwd", "..%2fsecret", "con", "0" * 64, "\\\\host\\x"]
)
def test_a_row_that_was_tampered_with_leads_nowhere(ask, world, digest):
    Asset.objects.filter(pk=world.picture).update(sha256=digest)
    status, body = ask(f"/pictures/{world.picture}/")
    assert status == 404
    assert SECRET not in body


def as_file(path, tmp_path):
    shutil.move(path, tmp_path / "same.png")
    path.symlink_to(tmp_path / "same.png")


def to_the_key(path, _tmp_path):
    path.unlink()
    path.symlink_to(path.parents[2] / "secret.key")


def as_folder(path, tmp_path):
    shutil.move(path.parent, tmp_path / "moved")
    path.parent.symlink_to(tmp_path / "moved")


def to_a_device(path, _tmp_path):
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("linked", [as_file, to_the_key, as_folder, to_a_device])
def test_a_link_in_the_place_of_a_picture_is_refused(ask, world, tmp_path, linked, caplog):
    path = image_store.image_path(Asset.objects.get(pk=world.picture).sha256)
    assert ask(f"/pictures/{world.picture}/")[0] == 200
    linked(path, tmp_path)
    status, body = ask(f"/pictures/{world.picture}/")
    assert status == 404
    assert SECRET not in body
    assert "is reached through a link" in caplog.text
