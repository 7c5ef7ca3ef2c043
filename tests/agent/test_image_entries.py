"""Images in the transcript: a line each, from its event alone (IMG-2, IMG-4)."""

from pathlib import Path

from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.domain import events as ev


def test_an_attached_image_is_an_entry_with_its_file() -> None:
    event = ev.AttachImage(
        seq=4,
        sha256="5" * 64,
        name="shot.png",
        mime="image/png",
        bytes=1_000,
        width=1280,
        height=720,
        tokens=1105,
        host="",
        line="",
    )
    for pictures in (None, lambda digest: Path("/kept") / digest):
        transcript = Transcript({4: event}.get, pictures)
        [entry] = transcript.load([event], None)
        assert (entry.kind, entry.title) == ("image", "shot.png 1280\u00d7720")
        assert entry.picture == (f"/kept/{'5' * 64}" if pictures else "")
        assert transcript.anchor(entry.id) == 4
