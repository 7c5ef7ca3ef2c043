"""What every test has: a home of its own, no keys, no proxies, and the replay of every request that
it sent.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from nodwyn_tui.config.environment import KEY_VARIABLES
from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.domain.events import LlmRequest
from nodwyn_tui.domain.parts import Image
from nodwyn_tui.domain.request import Request
from nodwyn_tui.providers.registry import dialect
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.log import Log
from nodwyn_tui.window.replay import replay
from tests.fakes.images import images_in
from tests.fakes.server import FakeServer

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
OWN = ("NODWYN_CONFIG", "NODWYN_LOG", "NO_COLOR", "OLLAMA_HOST", "SSL_CERT_FILE")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`NODWYN_HOME` in the test's own folder; nothing of the machine shines through."""
    for name in (*PROXIES, *(name.upper() for name in PROXIES), *OWN):
        monkeypatch.delenv(name, raising=False)
    for names in KEY_VARIABLES.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    # Nobody listens here: a test that finds a model on the machine's own Ollama would depend on it.
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("NODWYN_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def every_request_replays(tmp_path: Path) -> Iterator[None]:
    """ENG-26: each request in any log of the test rebuilds to its digest, and what a fake received
    is that rebuilt request under the recorded model and parameters, byte for byte.
    """
    FakeServer.started.clear()
    yield
    logs = [
        path for path in tmp_path.rglob("log.jsonl") if not (path.parent / "no-replay").exists()
    ]
    # The bytes of images come from what was sent: a log replays where its images are gone (IMG-5).
    images = {
        sha256(data): data
        for server in FakeServer.started
        for request in server.bodies
        for data in images_in(request.body)
    }
    encoded = Counter(body for path in logs for body in encoded_requests(path, images))
    if not encoded:
        return
    received = Counter(sha256(r.content) for server in FakeServer.started for r in server.bodies)
    assert not received - encoded, "a fake received what no log rebuilds"


@pytest.fixture(autouse=True)
def every_index_answers(tmp_path: Path) -> Iterator[None]:
    """ENG-7: through any index that a test leaves, its log reads as without one."""
    yield
    for path in tmp_path.rglob("index.sqlite"):
        log = path.with_name("log.jsonl")
        if path.is_file() and log.is_file():
            with contextlib.closing(Archive(log)) as archive:
                assert tuple(archive.events()) == Log.read(log).events, f"{path} misleads"


def encoded_requests(path: Path, images: Mapping[str, bytes]) -> Iterator[str]:
    """The digests of the wire bodies that a log's requests rebuild to; those whose images are not
    among `images`, by digest, were never sent.
    """
    events = Log.read(path).events
    for event in events:
        if isinstance(event, LlmRequest):
            window = replay(events, event.seq)
            if shown_images(window.request) <= images.keys():
                wire = dialect(event.model.provider).encode(
                    window.request, event.model, event.parameters, images.__getitem__
                )
                yield sha256(wire.content())


def shown_images(request: Request) -> set[str]:
    """The digests of a request's images."""
    return {
        part.sha256 for row in request.messages for part in row.parts if isinstance(part, Image)
    }
