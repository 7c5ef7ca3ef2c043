"""AGT-7, SEC-1: over-long results kept whole."""

import stat
import tracemalloc
from pathlib import Path
from random import Random

import pytest

from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.artifacts import ArtifactFiles
from nodwyn_tui.store.redact import Redactor
from tests.fakes.credentials import pem, samples

SECRET, _ = samples(Random())["gitlab-token"]


def artifacts(folder: Path) -> ArtifactFiles:
    return ArtifactFiles(folder, Redactor(["held-by-this-program"]))


def test_result_is_kept_whole_and_private(tmp_path: Path) -> None:
    data = b"a\r\n\0\xff\xf0\x9f\x98\x80 end"
    files = artifacts(tmp_path)
    name, path = files.open("shell c1.txt")
    path.write_bytes(data)
    files.finish(name)
    assert (name, path) == ("shell-c1.txt", tmp_path / "artifacts" / name)
    assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_names_are_unique_and_lead_nowhere(tmp_path: Path) -> None:
    """SEC-2: whatever a call is named, its file lies in the session's folder."""
    kept = [artifacts(tmp_path).open(name)[0] for name in ("a.txt", "a.txt", "../../a.txt")]
    assert kept == ["a.txt", "a-2.txt", "a-3.txt"]
    for odd in ("", "...", "/", "é", "x" * 500, ".hidden", "a\0b\n"):
        assert artifacts(tmp_path).open(odd)[1].is_file()
    assert {path.parent for path in tmp_path.rglob("*.txt")} == {tmp_path / "artifacts"}


def test_no_credential_stays_in_it(tmp_path: Path) -> None:
    """SEC-1: in a file that a tool wrote while it ran."""
    files = artifacts(tmp_path)
    text = f"before \udcff {SECRET} held-by-this-program".encode("utf-8", "surrogateescape")
    clean = b"before \xff [redacted:gitlab-token] [redacted:key]"
    name, path = files.open("out")
    assert path == tmp_path / "artifacts" / name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(text)
    files.finish(name)
    assert path.read_bytes() == clean
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_credentials_across_the_pieces_are_found_in_bounded_memory(tmp_path: Path) -> None:
    """SEC-1, C52: wherever they stand in a large file, half characters beside them."""
    random, files = Random(), artifacts(tmp_path)
    secrets = [samples(random)["github-token"][1] for _ in range(30)] + [pem(random)] * 6
    random.shuffle(secrets)
    filler, data = "größe 中\n".encode() * 60_000, b""
    for secret in secrets:
        data += filler[: len(filler) - random.randrange(400_000)] + f" {secret} ".encode()
    name, path = files.open("out")
    path.write_bytes(data)
    tracemalloc.start()
    files.finish(name)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    kept = path.read_bytes()
    assert not any(secret.encode() in kept for secret in secrets)
    assert kept.count(b"[redacted:") == len(secrets)
    assert peak < len(data)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_refusals_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "artifacts").write_text("")
    with pytest.raises(StoreError, match="artifacts"):
        artifacts(tmp_path).open("a")
    with pytest.raises(StoreError, match="gone"):
        artifacts(tmp_path).finish("gone")
