"""Recorded event sequences: what a worker tells in the situations that the pictures show."""

from dataclasses import replace
from pathlib import Path

from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.link import commands, requests, setup
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import Attached, ImagesWithheld, WithheldImage
from tests.ui.backend import OPENED

PICTURE = str(Path(__file__).with_name("login-page.png"))
METER = up.MeterChanged(
    segments=(
        up.Segment(kind="system", tokens=3_800),
        up.Segment(kind="summary", tokens=1_500),
        up.Segment(kind="history", tokens=19_000),
        up.Segment(kind="images", tokens=1_100),
        up.Segment(kind="fresh", tokens=700),
        up.Segment(kind="new", tokens=5_100),
    ),
    used=31_200,
    source="reported",
    high=52_000,
    low=26_000,
    ceiling=66_000,
    context=98_304,
    context_from="configured",
    cached_reply=0.98,
    cached_session=0.91,
    next_event="next trim in ~12 steps",
    cost_usd=0.04,
    elapsed_ms=12_300,
)

REPLY = """\
The path is joined by hand in `app/auth.py`, so a Windows base ending in `\\` gives **two**
separators and the lookup misses. Two things follow:

1. `Path(base) / name` joins it right on every system.
2. The test compares text; it should compare `Path` values.

```python
def token_file(base: str, name: str) -> Path:
    return Path(base) / name  # one separator
```

| system | before | after |
|:-------|-------:|:-----:|
| Linux  | ok     | ok    |
| Windows| failed | ok    |

See [the docs](https://docs.python.org/3/library/pathlib.html) for more.
"""

DIFF = "\n".join(
    (
        "--- app/auth.py",
        "+++ app/auth.py",
        "@@ -10,7 +10,7 @@",
        " from app import settings",
        " ",
        " ",
        " def token_file(base: str, name: str) -> Path:",
        '-    p = base + "/" + name',
        "+    p = Path(base) / name",
        "     return p",
    )
)


def entry(number: int, kind: up.EntryKind, text: str = "", **more: object) -> up.Entry:
    """An entry with its body, as live ones come."""
    body = more.pop("body", up.Body(text=text))
    return up.Entry(
        id=f"{number:08}",
        seq=number,
        kind=kind,
        preview=text[:240],
        size=len(text),
        body=body,
        **more,
    )


def call(
    number: int, tool: str, title: str, status: up.CallStatus = "ok", **more: object
) -> up.Entry:
    """A call's entry."""
    more.setdefault("ms", 400)
    return entry(
        number, "call", tool=tool, title=title, status=status, call_id=f"c{number}", **more
    )


TALK = (
    entry(4, "user", "The login test fails on Windows. Find out why and fix it."),
    entry(6, "thinking", "Where is the path made?", ms=4_000),
    call(7, "fs-search", 'fs-search "login" · 12 lines'),
    call(8, "fs-read", "fs-read app/auth.py · 212 lines", ms=60),
    call(
        9,
        "shell",
        "shell uv run pytest -q tests/test_login.py",
        "failed",
        text="FAILED tests/test_login.py::test_token_path\nAssertionError: 'C:/a/b' != 'C:/a/c'",
        ms=132_000,
    ),
    entry(10, "assistant", REPLY),
)


def conversation() -> list[up.UpEvent]:
    """A question, thinking, calls and a reply."""
    return [
        OPENED,
        up.EntriesLoaded(entries=TALK, done=True),
        METER,
        up.RunStarted(run=1),
        up.RunEnded(why="done", requests=3, changed_files=("app/auth.py",)),
    ]


def paged() -> list[up.UpEvent]:
    """A long session, of which the latest entries are here."""
    return [OPENED, up.EntriesLoaded(entries=TALK, done=True, earlier=True), METER]


def approval() -> list[up.UpEvent]:
    """An edit waits for the person."""
    body = up.Body(text="", arguments="{}", diff="-one\n+other")
    edit = call(12, "fs-edit", "fs-edit app/auth.py", "waiting", ms=None, body=body)
    return [
        OPENED,
        up.EntriesLoaded(entries=TALK[:4], done=True),
        METER,
        up.RunStarted(run=1),
        up.EntryAdded(entry=edit),
        up.ApprovalAsked(
            call_id="c12",
            entry_id=edit.id,
            tool="fs-edit",
            title="fs-edit app/auth.py",
            diff=DIFF,
            touches=("app/auth.py",),
            pattern="fs-edit: app/auth.py",
        ),
    ]


def streaming() -> list[up.UpEvent]:
    """A reply is being written."""
    return [
        OPENED,
        up.EntriesLoaded(entries=TALK[:4], done=True),
        METER,
        up.RunStarted(run=1),
        up.RequestSent(seq=11, model="qwen3-coder:30b"),
        up.ReplyPiece(kind="thinking", text="The base may end in a separator. " * 9),
        up.ReplyPiece(kind="text", text=REPLY[:430]),
    ]


LEAD_IN = """\
Note from the program: A new window begins here. The one before it, w:0, was full; nothing of it is
shown any more, and all of it can be read back: session_history {"action": "list_windows"}.

Your turn was interrupted by this rollover and goes on: do not begin it anew."""
ROLLED = (
    *(replace(made, state="behind") for made in TALK[:4]),
    entry(
        11,
        "guidance",
        "Note from the program: context ~62 % used (40,920 of 66,000 tokens); write what is worth"
        " keeping to the notes now.",
        title="told the model: the window is ~62 % full",
        state="behind",
    ),
    call(12, "memory", "memory add · context-notes", state="behind", ms=30),
    entry(
        13,
        "divider",
        title="rolled over in mid-run · at 50.1k of 66k tokens · the model had been warned"
        " · window w:0 left",
        state="outside",
        leaves=True,
    ),
    entry(14, "guidance", LEAD_IN, title="told the model: how it looks into w:0, what you asked"),
    entry(15, "guidance", "Continue.", title="told the model: Continue."),
    call(17, "session_history", 'session_history search "token_file" · 3 lines'),
    entry(18, "assistant", "The join by hand is in `app/auth.py`; `Path(base) / name` mends it."),
    entry(19, "user", "Here is the log of the build: …", title="not sent", state="outside"),
    entry(
        20,
        "error",
        "nothing was sent: the message alone is about 71,300 tokens, where a request may hold"
        " 66,000 with the system prompt and tools\n"
        "the message 71.3k · a request may have 66k · the model's context 98.3k tokens\n"
        "· shorten it, or put it into a file and name the file\n"
        "· /model picks a model with a larger context",
        state="outside",
    ),
)


def rolled() -> list[up.UpEvent]:
    """A window was left in the midst of a run, and a message was too long for the next."""
    return [
        replace(OPENED, strategy="rollover"),
        up.EntriesLoaded(entries=ROLLED, done=True),
        replace(
            METER, strategy="rollover", high=49_500, low=39_600, next_event="rolls over at 75 %"
        ),
    ]


WINDOW = requests.WindowShown(
    at=13,
    seq=10,
    name="w:0",
    sent="2025-01-02T03:04:05.678Z",
    model="qwen3-coder:30b",
    server="ollama",
    messages=4,
    tokens=50_100,
    counted=48_733,
    max_output=8_192,
    digest="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    pieces=7,
    characters=900,
)
PIECES = (
    requests.Piece(
        row=0, role="system", part="text", text="You are Nodwyn, an assistant.", tokens=3_800
    ),
    requests.Piece(
        row=0, role="tools", part="text", title="fs-read", text='{\n  "name": "fs-read"\n}'
    ),
    requests.Piece(
        row=1, role="user", part="text", text=f"Task:\n{TALK[0].preview}", line=4, tokens=31
    ),
    requests.Piece(
        row=2, role="assistant", part="thinking", text="Where is the path made?", line=6, tokens=44
    ),
    requests.Piece(
        row=2,
        role="assistant",
        part="call",
        title="fs-search c7",
        text='{"query": "login"}',
        line=6,
    ),
    requests.Piece(
        row=3,
        role="tool",
        part="result",
        title="fs-search c7",
        text="app/auth.py:14: def token_file(base, name):\n[bold]not markup[/] \x1b[2J",
        line=8,
        tokens=210,
        state="cut",
    ),
    requests.Piece(
        row=4,
        role="user",
        part="text",
        text="Note from the program: context ~62 % used (40,920 of 66,000 tokens).",
        line=11,
        tokens=52,
    ),
)


def pieces(command: commands.Command) -> list[up.UpEvent]:
    """Those of the window that are asked for."""
    assert isinstance(command, requests.FetchPieces)
    some = PIECES[command.first : command.first + command.count]
    return [requests.PiecesLoaded(seq=command.seq, first=command.first, pieces=some)]


OFFER = up.CompactionOffered(
    note=(
        "The person wants the login test to pass on Windows; the public names stay as they are.\n\n"
        "Done: `token_file` in app/auth.py joins its path with `Path`; tests/test_login.py compares"
        " `Path` values. Both pass here (`uv run pytest -q tests/test_login.py`).\n"
        "Failed: `os.path.join` keeps the doubled separator, so it is no way out.\n\n"
        "Next: the same join by hand stands in app/cache.py, line 41; then run all tests."
    ),
    before=31_200,
    after=4_310,
    goes=(
        up.Portion(label="messages of yours", tokens=420, count=3),
        up.Portion(label="replies", tokens=6_900, count=14),
        up.Portion(label="results", tokens=20_080, count=22),
    ),
    stays=(
        up.Portion(label="system prompt and tools", tokens=3_800),
        up.Portion(label="the handover note", tokens=330),
        up.Portion(label="the plan", tokens=180),
    ),
    usage=Usage(prompt_tokens=27_900, cached_tokens=27_100, output_tokens=210, cost_usd=0.0112),
)


def compaction() -> list[up.UpEvent]:
    """A handover note waits for the person."""
    return [*conversation(), up.CompactionStarted(), OFFER]


def no_model() -> list[up.UpEvent]:
    """Nothing is configured."""
    return [
        replace(
            OPENED,
            model="",
            server="",
            provider="",
            setup=(
                "No local Ollama answers at http://127.0.0.1:11434, and no key was found in the"
                " environment.\n\nStart Ollama and pull a model, or put a [models.NAME] entry into"
                " config.toml, then open Nodwyn again."
            ),
            problems=(
                up.Problem(text="config.toml:12: models.fast: unknown server 'opnrouter'"),
                up.Problem(text="config.toml:20: ui.color: unknown key", warning=True),
            ),
        )
    ]


def first_run() -> list[up.UpEvent]:
    """Nothing is configured, and nothing is wrong."""
    (opened,) = no_model()
    assert isinstance(opened, up.Opened)
    return [replace(opened, problems=(), session="")]


WAYS = setup.WaysFound(
    ways=(
        setup.Way(
            kind="ollama",
            name="ollama",
            title="Ollama, on this machine",
            detail="http://127.0.0.1:11434",
            ready=True,
            models=("qwen3:8b", "gemma3:4b"),
        ),
        setup.Way(
            kind="server", name="groq", title="Groq", detail="the key in GROQ_API_KEY", ready=True
        ),
        setup.Way(
            kind="local",
            name="local",
            title="A small local model",
            detail="weak, no tools; 93 MB to fetch once",
            ready=True,
        ),
        setup.Way(kind="server", name="mistral", title="Mistral", key_page="https://keys.example"),
        setup.Way(kind="server", name="lmstudio", title="LM Studio", ready=True),
        setup.Way(kind="tour", name="tour", title="The tour", ready=True),
    )
)
PULLING = setup.PullProgress(
    model="qwen3:8b", status="pulling a3de86cd1c13", done_bytes=13 * 10**8, all_bytes=52 * 10**8
)


def unsaved() -> list[up.UpEvent]:
    """The disk is full while messages wait."""
    return [
        *conversation()[:-1],
        up.Queued(texts=("And add a test for a base without a separator.", "Then tidy up.")),
        up.Unsaved(count=12, why="No space left on device: /src/app/.nodwyn/sessions"),
    ]


def images(path: str = PICTURE) -> list[up.UpEvent]:
    """A draft with images, and images that are withheld."""
    shot = Attached(
        sha256="1" * 64,
        name="login-page.png",
        mime="image/png",
        width=320,
        height=180,
        size=41_200,
        tokens=1_105,
        path=path,
    )
    photo = replace(shot, sha256="2" * 64, name="board.jpg", width=1500, height=2000, tokens=765)
    withheld = WithheldImage(sha256="3" * 64, name="plan.png", why="other-host")
    return [
        replace(OPENED, draft="Why is the button cut off?", draft_images=(photo, shot)),
        up.EntriesLoaded(entries=TALK[:4], done=True),
        METER,
        ImagesWithheld(host="openrouter.ai", images=(withheld,)),
    ]


MODELS = up.ModelsListed(
    models=(
        up.ModelChoice(name="local", detail="qwen3-coder:30b on ollama, 96k", current=True),
        up.ModelChoice(name="cloud", detail="anthropic/claude-sonnet-5.5 on openrouter, 1M"),
        up.ModelChoice(name="ollama/gemma3:27b", detail="17 GB, 128k"),
        up.ModelChoice(name="ollama/[bold]odd[/]:x", detail="a name in brackets"),
    ),
    failures=("groq: no key (GROQ_API_KEY is not set)",),
)


def priced(entry_id: str) -> up.EditPriced:
    """What can be done with a call's result."""
    return up.EditPriced(
        entry_id=entry_id,
        options=(
            up.EditOption(action="fold", freed=1_150, again=8_300, cost_usd=0.0249),
            up.EditOption(action="drop", freed=1_200, again=8_300, cost_usd=0.0249),
            up.EditOption(action="drop_step", freed=1_450, again=8_300, cost_usd=0.0249),
            up.EditOption(action="restore", freed=-1_200, again=0, cost_usd=0.0),
        ),
    )


MESSAGES = up.MessagesListed(
    messages=(
        up.Earlier(entry_id="00000012", text="And now the docs, please.", tokens=812),
        up.Earlier(entry_id="00000004", text="Why does [b]it[/b] fail?", tokens=31_200),
    )
)


SKILLS = up.SkillsListed(
    skills=(
        up.SkillFacts(
            name="commit-style",
            description="Writes commit messages the way this team does: imperative, one line",
            keeper="person",
        ),
        up.SkillFacts(
            name="pdf-forms",
            description="Fills in PDF forms and reads them, with a script that comes along",
            keeper="workspace",
            in_use=True,
        ),
        up.SkillFacts(
            name="release-notes",
            description="Turns merged changes into notes for people",
            keeper="workspace",
        ),
    ),
    problems=(
        ".agents/skills/deploy/SKILL.md:3 its front matter is no YAML: mapping values are not"
        " allowed here; put a value with `: ` in it in quotes",
        ".agents/skills/old/SKILL.md:1 begins without front matter; make --- its first line",
        ".claude/skills/odd/SKILL.md has more than 262,144 bytes; move parts of it elsewhere",
        "d",
        "e",
    ),
)
