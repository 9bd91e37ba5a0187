"""A small OpenID Connect provider: discovery, authorisation code with PKCE, tokens of RS256.

Run as a program it prints its issuer and serves until it is killed. Whoever is "at the provider"
adds ``test`` to the authorisation address: JSON with the claims and how the token shall be wrong.
"""

import base64
import hashlib
import json
import secrets
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

CLIENT, SECRET = "medrcube", "s3cret-of-the-client"
KEY = RSAKey.generate_key(2048, {"kid": "one"})
OTHER = RSAKey.generate_key(2048, {"kid": "one"})
CODES = {}


class Provider(BaseHTTPRequestHandler):
    """Answers for the issuer that its server is."""

    disable_nagle_algorithm = True  # a body need not wait for the receipt of its headers

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        issuer = self.server.issuer
        if parts.path == "/.well-known/openid-configuration":
            self.reply(
                {
                    "issuer": issuer,
                    "authorization_endpoint": f"{issuer}/authorize",
                    "token_endpoint": f"{issuer}/token",
                    "jwks_uri": f"{issuer}/keys",
                    "response_types_supported": ["code"],
                    "id_token_signing_alg_values_supported": ["RS256", "none", "HS256"],
                }
            )
        elif parts.path == "/keys":
            self.reply({"keys": [KEY.as_dict(private=False)]})
        elif parts.path == "/authorize":
            code = secrets.token_urlsafe(16)
            CODES[code] = query
            back = urlencode({"code": code, "state": query["state"]})
            self.send_response(302)
            self.send_header("Location", f"{query['redirect_uri']}?{back}")
            self.end_headers()

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        form_data = {
            name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()
        }
        request = CODES.pop(form_data.get("code"), None)
        digest = hashlib.sha256(form_data.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        scheme, _, result = self.headers.get("Authorization", "").partition(" ")
        client = base64.b64decode(result).decode() if scheme == "Basic" else ""
        is_client = unquote(client) == f"{CLIENT}:{SECRET}"
        if (
            request is None
            or not is_client
            or request.get("code_challenge_method") != "S256"
            or request.get("code_challenge") != challenge
            or request.get("redirect_uri") != form_data.get("redirect_uri")
        ):
            self.reply({"error": "invalid_grant"}, 400)
            return
        token = _token(self.server.issuer, request)
        self.reply({"access_token": "a", "token_type": "Bearer", **token})

    def reply(self, data, status=200):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing."""


def _token(issuer, request):
    wrong = json.loads(request.get("test", "{}"))
    now = int(time.time())
    claims = {
        "iss": issuer,
        "aud": CLIENT,
        "sub": "subject-1",
        "iat": now,
        "exp": now + 300,
        "nonce": request["nonce"],
        "email_verified": True,
        **wrong.get("claims", {}),
    }
    claims = {name: value for name, value in claims.items() if value is not None}
    signed = wrong.get("signed", "RS256")
    if signed == "absent":
        return {}
    if signed == "none":
        parts = ({"alg": "none"}, claims)
        coded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
        return {"id_token": b".".join([*coded, b""]).decode()}
    if signed == "HS256":
        key = OctKey.import_key(SECRET.ljust(32, "x"), {"kid": "one"})
        return {"id_token": jwt.encode({"alg": "HS256", "kid": "one"}, claims, key)}
    key = OTHER if signed == "another key" else KEY
    return {"id_token": jwt.encode({"alg": "RS256", "kid": "one"}, claims, key)}


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.issuer = f"http://127.0.0.1:{server.server_port}"
    sys.stdout.write(f"{server.issuer}\n")
    sys.stdout.flush()
    server.serve_forever()
