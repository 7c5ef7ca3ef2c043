"""`nodwyn auth`: keys come by standard input or a terminal, and leave by no way."""

import functools
import json
import os
import pty
import secrets
import stat
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import pytest
import tomli_w

from tests.cli.conftest import Nodwyn
from tests.fakes.chat_server import ChatServer
from tests.fakes.keyring_file import BACKEND, VARIABLE, FileRing
from tests.fakes.script import say

NODWYN = [sys.executable, "-m", "nodwyn_tui"]
ROOT = Path(__file__).parents[2]
CONFIG = """\
model = "m"  # mine

[servers.lan]  # in the cellar
provider = "openai"
base_url = "http://127.0.0.1:9/v1"

[models.m]
server = "lan"
model = "test-model"
"""


@pytest.fixture
def key() -> str:
    """One of no known shape: only what is held can take it out of a text."""
    return secrets.token_hex(20)


@pytest.fixture
def config(home: Path) -> Path:
    file = home / "config.toml"
    file.write_text(CONFIG)
    return file


@pytest.fixture(autouse=True)
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The keyring's file, for this process and for those that it starts."""
    file = tmp_path / "keyring.json"
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", BACKEND)
    monkeypatch.setenv(VARIABLE, str(file))
    before = keyring.get_keyring()
    keyring.set_keyring(FileRing())
    yield file
    keyring.set_keyring(before)


@pytest.fixture
def auth(nodwyn: Nodwyn) -> Nodwyn:
    return functools.partial(nodwyn, "auth")


def standings(auth: Nodwyn) -> dict[str, dict[str, str]]:
    return {each["server"]: each for each in json.loads(auth("list", "--json").stdout)}


def test_a_key_is_set_used_listed_and_removed(
    config: Path, ring: Path, key: str, tmp_path: Path, auth: Nodwyn
) -> None:
    """SEC-1: from standard input to the server that wants it, and nowhere else."""
    with ChatServer([say("hello")], key=key) as server:
        config.write_text(CONFIG.replace("http://127.0.0.1:9/v1", server.base_url))
        done = auth("set", "lan", given=f' "{key}"\n')
        assert done.returncode == 0, done.stderr
        assert json.loads(ring.read_text()) == {"nodwyn/lan": key}
        assert 'credential = "keyring:lan"' in config.read_text()
        assert "# mine" in config.read_text()
        assert "# in the cellar" in config.read_text()
        workspace = tmp_path / "ws"
        workspace.mkdir()
        ran = subprocess.run(
            [*NODWYN, "run", "--workspace", str(workspace), "-p", f"{key}?", "--format", "jsonl"],
            capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    listed = auth("list")
    assert "keyring:lan" in listed.stdout
    assert standings(auth)["lan"]["state"] == "there"
    said = done.stdout + done.stderr + ran.stdout + ran.stderr + listed.stdout + config.read_text()
    files = [path.read_bytes() for path in workspace.rglob("*") if path.is_file()]
    assert key not in said
    assert not any(key.encode() in content for content in files)
    assert auth("remove", "lan").returncode == 0
    assert config.read_text().count("credential") == 0
    assert json.loads(ring.read_text()) == {}
    assert standings(auth)["lan"]["state"] == "none"


def test_saving_a_key_saves_a_key(config: Path, key: str, auth: Nodwyn) -> None:
    """C74: the model that leads stays, and nothing else changes; C73 for the server's name."""
    before = tomllib.loads(config.read_text())
    assert auth("set", "anthropic", given=key).returncode == 0
    after = tomllib.loads(config.read_text())
    assert after["servers"].pop("anthropic") == {"credential": "keyring:anthropic"}
    assert after == before
    assert auth("remove", "anthropic").returncode == 0
    assert tomllib.loads(config.read_text()) == before


def test_a_machine_without_a_keyring_keeps_keys_in_files(
    config: Path, key: str, auth: Nodwyn
) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())
    refused = auth("set", "lan", given=key)
    assert refused.returncode == 2
    assert "auth set SERVER --in file" in refused.stderr
    assert config.read_text() == CONFIG
    assert auth("set", "lan", "--in", "file", given=key).returncode == 0
    kept = config.parent / "keys" / "lan"
    assert kept.read_text() == key
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert standings(auth)["lan"] == {
        "server": "lan", "credential": "file:keys/lan", "state": "there", "detail": "",
    }  # fmt: skip
    kept.chmod(0o644)
    assert standings(auth)["lan"]["state"] == "unusable"
    assert auth("remove", "lan").returncode == 0
    assert not kept.exists()


def test_a_key_that_moves_is_not_left_behind(
    config: Path, ring: Path, key: str, auth: Nodwyn
) -> None:
    """SEC-1: of this program's own places one holds it; the person's own are left alone."""
    for kept in ("keyring", "file", "keyring"):
        assert auth("set", "lan", "--in", kept, given=key).returncode == 0
        there = [key in path.read_text() for path in (config.parent / "keys").glob("*")]
        assert (any(there), key in ring.read_text()) == (kept == "file", kept == "keyring")


def test_the_list_says_where_each_key_comes_from(
    config: Path, key: str, monkeypatch: pytest.MonkeyPatch, auth: Nodwyn
) -> None:
    """Never the key, nor what a command is told."""
    monkeypatch.setenv("GROQ_API_KEY", key)
    vault = {
        "provider": "openai",
        "base_url": "http://127.0.0.1",
        "credential": f"command:helper --token {key}",
    }
    value = {"servers": {"vault": vault}}
    config.write_bytes(tomli_w.dumps(value).encode())
    found = standings(auth)
    assert (found["groq"]["credential"], found["groq"]["state"]) == ("env:GROQ_API_KEY", "there")
    assert found["openrouter"]["state"] == "missing"
    assert found["ollama"]["state"] == "none"
    assert found["vault"]["credential"] == "command:helper …"
    assert key not in auth("list").stdout


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        (("set", "nowhere"), "x", "no server is called 'nowhere'"),
        (("set", "lan"), "  \n", "no key was given"),
        (("set", "lan"), "a key in words", "U+0020 (space)"),
        (("remove", "nowhere"), "", "no server is called 'nowhere'"),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    config: Path, ring: Path, auth: Nodwyn, options: tuple[str, ...], given: str, words: str
) -> None:
    done = auth(*options, given=given)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    assert config.read_text() == CONFIG
    assert not ring.exists()


def test_a_key_of_the_persons_own_place_stays_there(
    config: Path, tmp_path: Path, auth: Nodwyn
) -> None:
    """`remove` takes out the setting alone."""
    own = tmp_path / "own"
    own.write_text("theirs")
    config.write_text(CONFIG.replace('9/v1"', f'9/v1"\ncredential = "file:{own}"'))
    done = auth("remove", "lan")
    assert (done.returncode, "where it is still" in done.stderr) == (0, True)
    assert own.read_text() == "theirs"
    assert config.read_text() == CONFIG


def test_what_is_typed_is_not_shown(config: Path, ring: Path, key: str) -> None:
    """SEC-1: on a terminal the key is asked for without echo."""
    inlet, outlet = pty.openpty()
    process = subprocess.Popen(
        [*NODWYN, "auth", "set", "lan"], stdin=outlet, stdout=outlet, stderr=outlet, cwd=ROOT,
        start_new_session=True,
    )  # fmt: skip
    try:
        said = _until(inlet, b"Key of lan: ")
        os.write(inlet, key.encode() + b"\n")
        said += _until(inlet, b"config.toml names")
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        os.close(outlet)
        os.close(inlet)
    assert key.encode() not in said
    assert json.loads(ring.read_text()) == {"nodwyn/lan": key}


def _until(descriptor: int, wanted: bytes) -> bytes:
    said = b""
    ends = time.monotonic() + 20
    while wanted not in said and time.monotonic() < ends:
        said += os.read(descriptor, 4096)
    return said
