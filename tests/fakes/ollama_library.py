"""What a fake Ollama fetches from: models of several layers, and the ways that a fetching fails."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from tests.fakes.script import Ending, Raw

MISSING = "pull model manifest: file does not exist"
FULL = "write /models/blobs/sha256-partial: no space left on device"
OFFLINE = 'pull model manifest: Get "https://registry": dial tcp: lookup registry: no such host'


@dataclass
class Library:
    """`models` are the layers' sizes by name. `step` is the bytes a line tells of, `pause` the
    seconds between two. After `breaks_after` lines the stream ends as `ending` says; `error` comes
    as its last line there, or at once as a refusal where `breaks_after` is 0. What was fetched
    stays in `partial`, by digest.
    """

    models: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    step: int = 1_000_000
    pause: float = 0.0
    breaks_after: int | None = None
    error: str = ""
    ending: Ending = "done"
    partial: dict[str, int] = field(default_factory=dict)

    def problems(self, body: Any) -> Iterator[str]:
        """What the real one refuses in a request."""
        if not isinstance(body, dict):
            yield "missing request body"
            return
        for name in set(body) - {"model", "name", "insecure", "stream"}:
            yield f"unknown field {name}"
        if not isinstance(body.get("stream", True), bool):
            yield "stream is no bool"
        name = body.get("model") or body.get("name")
        if not isinstance(name, str) or not name or " " in name:
            yield "invalid model name"

    def answer(self, body: Any, installed: list[str]) -> Raw | tuple[int, Any]:
        """The stream of one fetching. A whole one puts the model among the installed."""
        if problems := list(self.problems(body)):
            return 400, {"error": problems[0]}
        if self.breaks_after == 0 and self.error:
            return 500, {"error": self.error}
        name = spelled(body.get("model") or body["name"])
        if name not in self.models:
            return self._raw([{"status": "pulling manifest"}, {"error": MISSING}])
        lines = list(self._lines(name))
        if self.breaks_after is None:
            self._keep(lines)
            if name not in installed:
                installed.append(name)
            return self._raw(lines)
        lines = lines[: self.breaks_after]
        self._keep(lines)
        last = [{"error": self.error}] if self.error else []
        return self._raw([*lines, *last], self.ending)

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        yield {"status": "pulling manifest"}
        for number, whole in enumerate(self.models[name]):
            digest = sha256(f"{name}/{number}".encode()).hexdigest()
            head = {"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}"}
            done = self.partial.get(head["digest"], 0)
            yield {**head, "total": whole} | ({"completed": done} if done else {})
            while done < whole:
                done = min(done + self.step, whole)
                yield {**head, "total": whole, "completed": done}
        for status in ("verifying sha256 digest", "writing manifest", "success"):
            yield {"status": status}

    def _keep(self, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            if "completed" in line:
                self.partial[line["digest"]] = line["completed"]

    def _raw(self, lines: list[dict[str, Any]], ending: Ending = "done") -> Raw:
        pieces = [json.dumps(line).encode() + b"\n" for line in lines]
        cuts, at = [], 0
        for piece in pieces[:-1]:
            at += len(piece)
            cuts.append(at)
        return Raw(b"".join(pieces), cuts=tuple(cuts), pause=self.pause, ending=ending)


def spelled(name: str) -> str:
    """A name with its tag."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"
