"""A strict fake of an authorization server: codes with PKCE, and refresh tokens that rotate.

From RFC 6749, 7636 and 8252. A refresh token that comes back after it was spent ends the whole
sign-in, as the documented rotation does.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.fakes.script import Item, Raw
from tests.fakes.server import FakeServer, Received

CLIENT_ID = "nodwyn-test"
FORM = "application/x-www-form-urlencoded"


class AuthorizationServer(FakeServer):
    """`issued` is told each access token; `expires_in` and `scope` are what responses say (`None`:
    nothing), `denies` has the person say no, `rotates` whether a refresh token serves once.
    `grants` counts responses by grant type; `refuse` answers the next token request in place of it.
    """

    def __init__(
        self,
        issued: Callable[[str], None] = lambda _: None,
        *,
        expires_in: int | None = 3600,
        scope: str | None = None,
        denies: bool = False,
        rotates: bool = True,
    ) -> None:
        super().__init__()
        self._issued, self._expires_in, self._scope = issued, expires_in, scope
        self._denies, self._rotates = denies, rotates
        self._codes: dict[str, Mapping[str, str]] = {}
        self.refresh_token = ""
        self._spent: set[str] = set()
        self.grants: list[str] = []
        self.secrets: list[str] = []
        """Every code and token that was ever given out."""
        self.refuse: Item | tuple[int, Any] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """A server's `oauth` table."""
        return {
            "authorize_url": f"{self.root}/authorize?audience=test",
            "token_url": f"{self.root}/token",
            "client_id": CLIENT_ID,
            "scopes": ["models.use", "offline"],
        }

    def answer(self, request: Received) -> Item | tuple[int, Any]:
        path = urlsplit(request.path).path
        if (request.method, path) == ("GET", "/authorize"):
            return self._authorize(dict(parse_qsl(urlsplit(request.path).query)))
        if (request.method, path) == ("POST", "/token"):
            return self._token(request)
        return 404, {"error": "no such path"}

    def _authorize(self, asked: Mapping[str, str]) -> Item | tuple[int, Any]:
        back = urlsplit(asked.get("redirect_uri", ""))
        wrong = [
            name
            for name, fine in {
                "client_id": asked.get("client_id") == CLIENT_ID,
                "response_type": asked.get("response_type") == "code",
                "audience": asked.get("audience") == "test",
                "state": len(asked.get("state", "")) >= 20,
                "code_challenge": len(asked.get("code_challenge", "")) == 43,
                "code_challenge_method": asked.get("code_challenge_method") == "S256",
                "redirect_uri": back.scheme == "http" and back.hostname in ("127.0.0.1", "::1"),
            }.items()
            if not fine
        ]
        if wrong:
            self.violations += wrong
            return 400, {"error": "invalid_request", "error_description": ", ".join(wrong)}
        if self._denies:
            given = {"error": "access_denied", "error_description": "they said no"}
        else:
            code = self._secret("code")
            self._codes[code] = asked
            given = {"code": code}
        target = f"{back.geturl()}?{urlencode({**given, 'state': asked['state']})}"
        return Raw(b"", "text/html", 302, {"Location": target})

    def _token(self, request: Received) -> Item | tuple[int, Any]:
        if self.refuse is not None:
            refused, self.refuse = self.refuse, None
            return refused
        form = dict(parse_qsl(request.content.decode()))
        if request.headers.get("content-type") != FORM or "authorization" in request.headers:
            self.violations.append("a token is asked for with a form, and without a key")
        if form.get("client_id") != CLIENT_ID:
            return _refused("invalid_client", "no such client")
        self.grants.append(form.get("grant_type", ""))
        match form:
            case {"grant_type": "authorization_code", "code": code}:
                return self._for_code(code, form)
            case {"grant_type": "refresh_token", "refresh_token": refresh}:
                return self._for_refresh(refresh)
        return _refused("unsupported_grant_type", "")

    def _for_code(self, code: str, form: Mapping[str, str]) -> tuple[int, Any]:
        asked = self._codes.pop(code, None)
        if asked is None:
            return _refused("invalid_grant", f"the code {code} is spent or unknown")
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return _refused("invalid_grant", f"the verifier is not that of the code {code}")
        if form.get("redirect_uri") != asked["redirect_uri"]:
            return _refused("invalid_grant", "another redirect_uri")
        return self._granted(first=True)

    def _for_refresh(self, refresh: str) -> tuple[int, Any]:
        if refresh in self._spent:
            self.violations.append("a spent refresh token came back")
            self.refresh_token = ""
        if not refresh or refresh != self.refresh_token:
            return _refused("invalid_grant", f"the refresh token {refresh} does not hold")
        return self._granted(first=False)

    def _granted(self, *, first: bool) -> tuple[int, Any]:
        access = self._secret("at")
        response: dict[str, Any] = {"access_token": access, "token_type": "bearer"}
        if self._expires_in is not None:
            response["expires_in"] = self._expires_in
        if self._scope is not None:
            response["scope"] = self._scope
        if first or self._rotates:
            self._spent.add(self.refresh_token)
            self.refresh_token = response["refresh_token"] = self._secret("rt")
        if first:
            response["id_token"] = self._secret("id")
        self._issued(access)
        return 200, response

    def _secret(self, kind: str) -> str:
        made = f"{kind}.{secrets.token_hex(24)}"
        self.secrets.append(made)
        return made


def _refused(error: str, description: str) -> tuple[int, Any]:
    return 400, {"error": error, "error_description": description}


def body_of(value: Any) -> bytes:
    """JSON, for a `Raw` answer."""
    return json.dumps(value).encode()
