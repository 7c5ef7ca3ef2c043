"""The link's records survive their encoding."""

import typing

import pytest

from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.link import codec, commands, events, images, requests, settings, setup

RECORDS = [
    commands.Open(workspace="/w", resume="last", add_dirs=("/a", "/b"), max_steps=3),
    commands.Send(text="[b] \ud83d \x1b[2J 中\n"),
    commands.Answer(call_id="c1", allow=False, reason="no"),
    commands.Close(),
    events.Opened(session="s", workspace="/w", problems=(events.Problem(text="line 12"),)),
    events.EntriesLoaded(
        entries=(
            events.Entry(
                id="3:c", seq=3, kind="call", body=events.Body(text="out", diff="-a\n+b\n")
            ),
            events.Entry(id="4", seq=4, kind="user"),
        ),
        done=True,
    ),
    commands.FetchPage(before=7),
    events.PageLoaded(entries=(events.Entry(id="5", seq=5, kind="note"),), before=7, more=True),
    events.MeterChanged(
        segments=(events.Segment(kind="system", tokens=9),),
        used=9,
        source="estimated",
        high=3,
        low=2,
        ceiling=4,
        context=5,
        context_from="assumed",
        cached_reply=0.0,
    ),
    commands.AcceptCompaction(note="so far\n- half"),
    events.CompactionOffered(
        note="so far",
        before=9,
        after=4,
        goes=(events.Portion(label="replies", tokens=5, count=2),),
        stays=(events.Portion(label="the note", tokens=4),),
        usage=Usage(cost_usd=0.01),
    ),
    commands.EditWindow(entry_id="00000004", action="drop_step"),
    events.EditPriced(
        entry_id="00000004", options=(events.EditOption(action="restore", freed=-9, again=3),)
    ),
    events.MessagesListed(messages=(events.Earlier(entry_id="00000004", text="go", tokens=9),)),
    settings.SaveSettings(
        changes=(
            settings.SettingChange(path=("models", "a b.c", "effort"), value="high"),
            settings.SettingChange(path=("model",), value=None),
        ),
        version="1",
    ),
    settings.SettingsShown(
        file="/c.toml",
        version="1",
        groups=(
            settings.SettingsGroup(
                kind="model",
                name="a b.c",
                title="a b.c",
                rows=(
                    settings.Setting(
                        path=("models", "a b.c", "effort"),
                        label="effort",
                        kind="choice",
                        help="how hard",
                        choices=("low", "high"),
                        theirs="",
                    ),
                ),
            ),
        ),
    ),
    requests.ShowWindow(at=9),
    requests.PiecesLoaded(
        seq=4,
        first=0,
        pieces=(
            requests.Piece(row=0, role="system", part="text", text="You help.", tokens=3),
            requests.Piece(row=1, role="tool", part="result", text="\ud83d [b]", ends=False),
        ),
    ),
    images.ImageAttached(
        text="/a.png",
        image=images.Attached(
            sha256="0",
            name="a.png",
            mime="image/png",
            width=1,
            height=2,
            size=3,
            tokens=4,
            path="/s/0",
        ),
    ),
    images.ImagesWithheld(
        host="h", images=(images.WithheldImage(sha256="0", name="a.png", why="missing"),)
    ),
    setup.WaysFound(ways=(setup.Way(kind="ollama", name="ollama", title="", models=("m",)),)),
    events.RunEnded(why="done", usage=Usage(prompt_tokens=3, cost_usd=0.5)),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_record_survives_one_line(record: commands.Command | events.UpEvent) -> None:
    line = codec.encode(record)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert codec.decode(line) == record


def test_every_record_of_both_unions_has_a_name_of_its_own() -> None:
    kinds = [*typing.get_args(commands.Command), *typing.get_args(events.UpEvent)]
    assert len({kind.__name__ for kind in kinds}) == len(kinds)
