"""What is kept in the keyring and in private files, and how it is guarded there."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import pytest

from nodwyn_tui.config.keychain import Keychain, own_place
from nodwyn_tui.errors import ConfigError
from tests.fakes.keyring_file import FileRing

SECRET = "made-for-this-test"
PLACES = ("keyring:lan", "file:keys/lan")


@pytest.mark.parametrize("place", PLACES)
def test_what_is_kept_is_read_and_forgotten(tmp_path: Path, ring: FileRing, place: str) -> None:
    chain = Keychain(tmp_path)
    assert chain.read(place) == ""
    assert not chain.forget(place)
    for secret in ("first", SECRET):
        chain.keep(place, secret)
        assert chain.read(place) == secret
    assert chain.forget(place)
    assert chain.read(place) == ""


def test_a_file_is_made_for_the_person_alone(tmp_path: Path) -> None:
    """SEC-1: 0600 in a folder of 0700."""
    Keychain(tmp_path).keep("file:keys/lan", SECRET)
    path = tmp_path / "keys" / "lan"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_of_the_persons_own_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    Keychain(tmp_path).keep("file:theirs/key", SECRET)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o602, 0o666])
def test_a_file_that_others_can_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    """SEC-1: as ssh does, and with what mends it."""
    path = tmp_path / "key"
    path.write_text(SECRET)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=f"mode {mode:04o}.*chmod 600") as caught:
        Keychain(tmp_path).read("file:key")
    assert SECRET not in str(caught.value)
    path.chmod(0o400)
    assert Keychain(tmp_path).read("file:key") == SECRET


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a file away")
def test_a_file_of_somebody_else_is_theirs_to_close(tmp_path: Path) -> None:
    """As a container's mounted secret is."""
    path = tmp_path / "key"
    path.write_text(SECRET)
    path.chmod(0o444)
    os.chown(path, 12345, -1)
    assert Keychain(tmp_path).read("file:key") == SECRET


def test_what_cannot_be_a_key_file(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.touch(mode=0o600)
    large.write_bytes(b"k" * 70_000)
    for place, words in (("file:large", "larger than"), (f"file:{tmp_path}", "cannot be read")):
        with pytest.raises(ConfigError, match=words):
            Keychain(tmp_path).read(place)
    (tmp_path / "keys").write_text("in the way")
    with pytest.raises(ConfigError, match="A file stands where a folder"):
        Keychain(tmp_path).keep("file:keys/x", SECRET)


@pytest.fixture
def no_keyring() -> Iterator[None]:
    """A machine without one, as the library finds it."""
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


def test_a_machine_without_a_keyring_says_what_to_do_instead(
    tmp_path: Path, no_keyring: None
) -> None:
    chain = Keychain(tmp_path)
    for ask in (lambda: chain.read(PLACES[0]), lambda: chain.keep(PLACES[0], SECRET)):
        with pytest.raises(ConfigError, match=r"no keyring works .*--in file") as caught:
            ask()
        assert SECRET not in str(caught.value)


def test_a_locked_keyring_is_said(tmp_path: Path, ring: FileRing) -> None:
    chain = Keychain(tmp_path)
    for ask in (lambda: chain.read("keyring:locked"), lambda: chain.keep("keyring:locked", SECRET)):
        with pytest.raises(ConfigError, match="unlock it") as caught:
            ask()
        assert SECRET not in str(caught.value)


def test_places_of_odd_servers_are_apart() -> None:
    """C73: whatever the name, no place leads out of its folder, or to another server's."""
    names = ["lan", "Lan", "LAN", "", " ", ".", "..", "../x", "a/b", "a b", "näme 中", "x" * 80]
    places = [own_place("file", name) for name in names]
    assert places[0] == "file:keys/lan"
    assert own_place("keyring", "lan") == "keyring:lan"
    assert len(set(places)) == len(names)
    assert all(place.count("/") == 1 and ".." not in place for place in places)
    assert all(place == place.strip() for place in places)
