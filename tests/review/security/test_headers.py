"""Headers of every reply, cookies, and that nothing of ours points to another host."""

import re
import runpy
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.staticfiles.finders import get_finders
from django.test import Client, override_settings
from stage.world import ANONYMOUS, PASSWORD, PEOPLE

from medrcube import review
from medrcube.review.views import landing

ROOT = Path(review.__file__).parent
ORIGIN = "https://review.example.org"
POLICY = {
    "default-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
OUTSIDE = re.compile(r"""\b(?:https?|wss?|ftp|data|blob):[^\s]|["'(=]\s*//\w|@import""")
NAMESPACE = '"http://www.w3.org/2000/svg"'  # the name of a language; nothing is fetched from it


def assert_guarded(reply, *cache):
    assert set(reply["Content-Security-Policy"].split("; ")) == POLICY
    assert {name: reply.get(name) for name in HEADERS} == HEADERS
    if reply["Content-Type"].startswith("text/html"):
        assert reply["Content-Type"] == "text/html; charset=utf-8"
    directives = reply["Cache-Control"].split(", ")
    assert all(word in directives for word in cache or ("private", "no-store"))
    assert "Server" not in reply
    assert "X-Powered-By" not in reply


@pytest.mark.few(3)
@pytest.mark.parametrize("who", PEOPLE)
def test_every_reply_is_guarded(world, routes, who):
    for route in routes:
        client, address = world.client(who), world.address(route)
        for reply in (client.get(address), client.post(address)):
            assert_guarded(reply)


def test_every_refusal_is_guarded(world, routes):
    client = world.client("manager", enforce_csrf_checks=True)
    for address in map(world.address, routes):
        for reply in (client.put(address), client.post(address), client.get(f"{address}x")):
            assert reply.status_code in (301, 403, 404, 405)
            assert_guarded(reply)


@pytest.mark.parametrize(
    ("address", "status"),
    [("/nothing/", 404), ("/me", 301), ("/static/review/none.css", 404), ("/items/%00/", 404)],
)
def test_what_is_not_there_is_guarded(world, address, status):
    reply = world.client("reviewer").get(address)
    assert reply.status_code == status
    assert_guarded(reply)


def test_an_unknown_host_is_guarded(world):
    reply = Client(SERVER_NAME="evil.example").get("/")
    assert reply.status_code == 400
    assert_guarded(reply)


def test_a_fault_of_ours_is_guarded(world, monkeypatch):
    client = world.client("manager", raise_request_exception=False)
    monkeypatch.setattr(landing, "_count_in", None)
    reply = client.get("/")
    assert reply.status_code == 500
    assert_guarded(reply)
    assert b"Traceback" not in reply.content


def static_names():
    return sorted(name for finder in get_finders() for name, _ in finder.list(()))


def test_only_our_own_files_are_served():
    assert static_names()
    assert all(name.startswith("review/") for name in static_names())


@pytest.mark.parametrize("name", static_names())
def test_a_static_file_is_guarded_and_of_its_kind(world, name):
    reply = world.client(ANONYMOUS).get(f"/static/{name}")
    kinds = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    assert reply.status_code == 200
    assert reply["Content-Type"].partition(";")[0] == kinds[name.rpartition(".")[2]]
    assert_guarded(reply, "public")
    assert b"".join(reply)
    reply.close()


@pytest.mark.parametrize(
    "path",
    [path for name in ("static", "templates") for path in sorted((ROOT / name).rglob("*.*"))],
)
def test_no_file_points_to_another_host(path):
    text = path.read_text(encoding="utf-8").replace(NAMESPACE, "")
    assert OUTSIDE.search(text) is None
    assert "sourceMappingURL" not in text
    if path.suffix == ".css":
        assert "url(" not in text
    if path.suffix == ".js":
        banned = r"\beval\b|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write"
        assert re.search(banned, text) is None
    if path.suffix == ".html":
        assert re.search(r"\|\s*safe\b|autoescape|mark_safe|<style|\sstyle=", text) is None
        assert all(" src=" in tag for tag in re.findall(r"<script[^>]*>", text))


def test_the_search_for_other_hosts_finds_them():
    for text in ("https://x.org", 'src="//x.org"', "url(//x.org)", "@import 'x'", "data:image/png"):
        assert OUTSIDE.search(text), text
    assert OUTSIDE.search("// a remark\nconst a = 1 // 2;") is None


def test_no_python_of_ours_passes_text_by_the_template_s_escaping():
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert re.search(r"mark_safe\(|SafeString\(|format_html\(f|autoescape", text) is None, path
    assert "django.contrib.admin" not in {app.name for app in apps.get_app_configs()}


def cookies_of(client, **how):
    """Cookies of a sign-in, of the pages after it and of a message."""
    cookies = dict(client.get("/sign-in/", **how).cookies)
    form_data = {"email": "reviewer@example.org", "password": PASSWORD}
    cookies |= client.post("/sign-in/", form_data, **how).cookies
    cookies |= client.get("/review/", **how).cookies
    cookies |= client.post("/me/", {"form": "default-keys"}, **how).cookies
    return cookies


def test_cookies_are_no_script_s_and_no_other_site_s(world):
    cookies = cookies_of(Client(SERVER_NAME="localhost"))
    assert set(cookies) == {"sessionid", "csrftoken"}
    for cookie in cookies.values():
        assert (bool(cookie["httponly"]), cookie["samesite"]) == (True, "Lax")
        assert (cookie["path"], cookie["domain"]) == ("/", "")


def test_with_an_origin_cookies_are_bound_to_https_and_to_that_host(world, monkeypatch):
    monkeypatch.setenv("MEDRCUBE_REVIEW_ORIGIN", ORIGIN)
    values = runpy.run_path(str(ROOT / "settings.py"))
    prefixes = ("COOKIE", "HOSTS", "ORIGINS", "HSTS", "SSL")
    overrides = {
        name: value
        for name, value in values.items()
        if name.isupper() and any(part in name for part in prefixes)
    }
    with override_settings(**overrides):
        client = Client(SERVER_NAME="review.example.org")
        cookies = cookies_of(client, secure=True)
        assert client.get("/me/", secure=True).status_code == 200
        assert Client(SERVER_NAME="localhost").get("/me/", secure=True).status_code == 400
    assert set(cookies) == {"__Host-session", "__Host-csrf"}
    for cookie in cookies.values():
        assert bool(cookie["secure"])
        assert (bool(cookie["httponly"]), cookie["samesite"]) == (True, "Lax")
        assert (cookie["path"], cookie["domain"]) == ("/", "")
