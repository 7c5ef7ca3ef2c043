"""`nodwyn auth set --sign-in`, as a process with a browser of the test's own; and a run with it."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from nodwyn_tui.domain.events import LlmRequest
from nodwyn_tui.providers.session_key import PLAN_HEADERS, PLAN_SCOPE, session_key
from nodwyn_tui.store.log import Log
from tests.fakes.authorization_server import AuthorizationServer
from tests.fakes.chat_server import ChatServer
from tests.fakes.keyring_file import BACKEND, VARIABLE
from tests.fakes.script import call, say

NODWYN = [sys.executable, "-m", "nodwyn_tui"]
ROOT = Path(__file__).parents[2]
BROWSER = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()"


@pytest.fixture(autouse=True)
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "keyring.json"
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", BACKEND)
    monkeypatch.setenv(VARIABLE, str(file))
    browser = f"{sys.executable} -c {shlex.quote(BROWSER)} %s"
    monkeypatch.setenv("BROWSER", browser)
    return file


def nodwyn(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NODWYN, *options], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def configure(home: Path, server: ChatServer, oauth: dict[str, Any]) -> Path:
    where = {"provider": "openai", "base_url": server.base_url, "oauth": oauth}
    value = {
        "model": "m",
        "servers": {"plan": where},
        "models": {"m": {"server": "plan", "model": "test-model"}},
    }
    file = home / "config.toml"
    file.write_bytes(tomli_w.dumps(value).encode())
    return file


def test_a_plan_is_signed_in_to_and_asked(home: Path, tmp_path: Path, ring: Path) -> None:
    """PRV-4: the granted scope reaches the requests' headers and parameters. SEC-1: no token is in
    a log, an output, a setting or a tool's environment.
    """
    workspace = tmp_path / "ws"
    workspace.mkdir()
    look = call("shell", {"command": "env; cat /proc/self/cmdline; ls -a ."})
    with (
        ChatServer([look, say("done")]) as server,
        AuthorizationServer(
            lambda token: setattr(server, "key", token), scope=f"models.use {PLAN_SCOPE}"
        ) as issuer,
    ):
        file = configure(home, server, issuer.settings)
        signed = nodwyn("auth", "set", "plan", "--sign-in")
        assert signed.returncode == 0, signed.stderr
        assert issuer.violations == []
        ran = nodwyn("run", "--workspace", str(workspace), "-p", "hi", "--allow", "*")
        assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
        listed = nodwyn("auth", "list", "--json")
    standing = next(s for s in json.loads(listed.stdout) if s["server"] == "plan")
    assert standing == {
        "server": "plan",
        "credential": "oauth:keyring:plan.tokens",
        "state": "there",
        "detail": f"signed in, granted: models.use {PLAN_SCOPE}",
    }
    (log,) = workspace.rglob("log.jsonl")
    requests = [event for event in Log.read(log).events if isinstance(event, LlmRequest)]
    assert {each.parameters.scopes for each in requests} == {("models.use", PLAN_SCOPE)}
    key = session_key(log.parent.name)
    assert all(b.headers[name] == key for b in server.bodies for name in PLAN_HEADERS)
    listings = [r for r in server.requests if r not in server.bodies]
    assert not any(name in r.headers for r in listings for name in PLAN_HEADERS)
    said = "".join(d.stdout + d.stderr for d in (signed, ran, listed)) + file.read_text()
    kept = [
        path.read_bytes() for path in [*workspace.rglob("*"), *home.rglob("*")] if path.is_file()
    ]
    assert len(issuer.secrets) == 4
    assert not [
        s for s in issuer.secrets if s in said or any(s.encode() in content for content in kept)
    ]
    assert issuer.secrets[1] in ring.read_text()
    assert nodwyn("auth", "remove", "plan").returncode == 0
    assert json.loads(ring.read_text()) == {}
    assert "credential" not in file.read_text()


def test_a_sign_in_that_is_refused_keeps_nothing(home: Path, ring: Path) -> None:
    with ChatServer([]) as server, AuthorizationServer(denies=True) as issuer:
        file = configure(home, server, issuer.settings)
        before = file.read_text()
        done = nodwyn("auth", "set", "plan", "--sign-in")
    assert (done.returncode, "access_denied: they said no" in done.stderr) == (4, True)
    assert file.read_text() == before
    assert not ring.exists()


def test_a_server_without_a_sign_in_says_what_it_needs(home: Path) -> None:
    done = nodwyn("auth", "set", "openrouter", "--sign-in")
    assert done.returncode == 2
    assert "[servers.openrouter.oauth]" in done.stderr
