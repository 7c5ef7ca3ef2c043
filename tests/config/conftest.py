"""A keyring of the test's own, in place of the machine's."""

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from tests.fakes.keyring_file import VARIABLE, FileRing


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileRing]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "keyring.json"))
    before, made = keyring.get_keyring(), FileRing()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)
