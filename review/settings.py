"""Django settings of the review queue, from the environment that ``bootstrap.configure`` sets.

Two modes: local (http on the loopback address), or for a team behind https, if
``MEDRCUBE_REVIEW_ORIGIN`` is the public address.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from medrcube.review.server.database_settings import DATABASE_FILE, database_settings
from medrcube.review_settings import ReviewSettings
from medrcube.workspace import CONFIG, open_workspace

FOLDER = Path(os.environ.get("MEDRCUBE_REVIEW_FOLDER", "review"))
"""Folder with the stored images and the secret key."""
ORIGIN = os.environ.get("MEDRCUBE_REVIEW_ORIGIN", "")
_KEY_FILE = FOLDER / "secret.key"
SITE = (
    open_workspace(FOLDER.parent).review if (FOLDER.parent / CONFIG).is_file() else ReviewSettings()
)
"""Sign-in settings of this site."""

# Without a key file (type checkers, tests), sessions end with the process.
SECRET_KEY = (
    _KEY_FILE.read_text(encoding="ascii") if _KEY_FILE.is_file() else secrets.token_urlsafe(64)
)
DEBUG = False
# Without a folder (type checkers), nothing is written.
_DATABASE = (
    str(FOLDER.parent / DATABASE_FILE) if "MEDRCUBE_REVIEW_FOLDER" in os.environ else ":memory:"
)
DATABASES = {"default": database_settings(os.environ.get("MEDRCUBE_REVIEW_DATABASE") or _DATABASE)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "review.User"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-gb"
APPEND_SLASH = True

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "medrcube.review.apps.ReviewConfig",
]
# No tables for Django's permissions and groups: what a person may do depends on ``User.role``.
MIGRATION_MODULES: dict[str, str | None] = {"auth": None, "contenttypes": None}
MIDDLEWARE = [
    # First, so that responses of other middleware (redirects, static files) have the headers too.
    "csp.middleware.CSPMiddleware",
    "medrcube.review.middleware.IsolationMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "medrcube.review.middleware.OwnPagesMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "medrcube.review.middleware.SessionEndMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ROOT_URLCONF = "medrcube.review.urls"
WSGI_APPLICATION = "medrcube.review.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# In the session: a separate cookie would have to be protected, and would be readable.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True  # serve from the package, without collectstatic
WHITENOISE_AUTOREFRESH = False

PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ["email"]},
    },
    {"NAME": "medrcube.review.accounts.passwords.StrengthValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"

SIGN_IN_WINDOW_SECONDS = 15 * 60
# Failed attempts in that time. A ward shares one address, so the limit for addresses is higher.
SIGN_IN_LIMITS = {"pair": 5, "account": 50, "address": 100}
SESSION_IDLE_SECONDS = 30 * 60
SESSION_LONGEST_SECONDS = 12 * 60 * 60
SESSION_ENGINE = "medrcube.review.accounts.sessions"
SESSION_COOKIE_AGE = SESSION_LONGEST_SECONDS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "medrcube.review.views.error_pages.csrf_failure"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
# Enough for a review with all its text; images are never uploaded.
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000

if ORIGIN:
    ALLOWED_HOSTS = [urlsplit(ORIGIN).hostname or ""]
    CSRF_TRUSTED_ORIGINS = [ORIGIN]
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    SESSION_COOKIE_NAME = "__Host-session"
    CSRF_COOKIE_SECURE = True
    CSRF_COOKIE_NAME = "__Host-csrf"
else:
    ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]

# Python prints warnings to stderr by itself; Django's configuration would close the handlers of
# other packages in the process.
LOGGING_CONFIG = None
