"""The words of the tour, chapter by chapter, and the calls that go with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_TEST = "python3 -m unittest"
_ON = "*Send anything to go on.*"

Outcome = Literal["refused", "passed", "failed", "other"]
"""What a step's calls came to: refused or interrupted, or what the project's tests said."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the guide."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One reply. `instead` stands in for `text` by what the calls before it came to."""

    text: str
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    instead: Mapping[Outcome, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chapter:
    """What follows one message of the person: its first step bears the title."""

    title: str
    steps: tuple[Step, ...]


def _plan(fix: str, test: str) -> Call:
    items = [
        {"text": "Divide without rounding in portions.py", "state": fix},
        {"text": "Run the tests", "state": test},
    ]
    return Call("plan-write", {"items": items})


_WELCOME = Chapter(
    "Welcome",
    (
        Step(
            f"""\
This is a tour, not a model. What you read was written beforehand, and a small server inside this \
program plays it back. Nothing leaves your machine, and nothing of what you type is understood.

Everything else is real: the tools, the questions before a change, the log, the meter below. The \
work is done on a throw-away copy of a tiny project.

Each message of yours, whatever it says, leads to the next of seven parts. **Esc** stops me at any \
moment, and `/help` shows every command and key.

{_ON}"""
        ),
    ),
)

_LOOK = Chapter(
    "A look around",
    (
        Step(
            "A model begins by looking. These are two calls in one reply; reading needs no "
            "question, so both run at once.",
            thinking="I know nothing of this project yet. The list of its files and its README "
            "do not depend on each other, so I ask for both in one reply.",
            calls=(Call("fs-list", {}), Call("fs-read", {"path": "README.md"})),
        ),
        Step(
            f"""\
Each call is one row: what was asked, how it went, how long it took. Open a row with **Enter** to \
see its input and its whole result. The folded row before them is how a model's thinking is shown.

It is a project that scales recipes, and its README says that the tests pass. I would like to see \
that.

{_ON}"""
        ),
    ),
)

_ASK = Chapter(
    "A question first",
    (
        Step(
            """\
A command can change things. In the mode `ask` it waits for you: its row shows exactly what \
would run, and which keys allow it or refuse it. **Shift+Tab**, unless you gave it another key, \
goes through the modes: `plan` only reads, `ask` asks, `edits` lets files of this folder be \
changed, `auto` asks nothing and needs a \
sandbox.""",
            calls=(Call("shell", {"command": _TEST}),),
        ),
        Step(
            f"""\
The command ran, and I was given its output and its exit code; it seems that the tests cannot \
run on this machine. They would have shown that one of two fails: for six people there is as much \
flour as for four.

{_ON}""",
            instead={
                "failed": f"""\
The command ran in the project's folder, and I was given its output and its exit code. One of two \
tests fails: for six people there is as much flour as for four.

{_ON}""",
                "passed": f"""\
The command ran in the project's folder, and I was given its output and its exit code. All tests \
pass here, so the fault is mended already; let us look at the place all the same.

{_ON}""",
                "refused": f"""\
The command did not run: all a model learns is that you refused, and your reason if you gave one. \
It would have shown that one of two tests fails: for six people there is as much flour as for four.

{_ON}""",
            },
        ),
    ),
)

_FIND = Chapter(
    "Finding the fault",
    (
        Step(
            "Who scales amounts, and how?",
            thinking="Four people to eight works and four to six does not, so the factor is "
            "probably rounded to a whole number somewhere. I search for where it is worked out.",
            calls=(
                Call("fs-search", {"pattern": "scale"}),
                Call("fs-read", {"path": "portions.py"}),
            ),
        ),
        Step(
            f"""\
`portions.py` divides with `//`, which rounds down: six over four becomes one.

Now look at the line under the bar below. Every request is the one before it with something added \
at its end, and nothing before that ever changes by itself. A local model then evaluates only what \
is new, and a hosted one bills the rest at the price of its cache. The share after **cached** says \
how much of the prompt that was; where a server does not report it, the line says so.

{_ON}"""
        ),
    ),
)

_CHANGE = Chapter(
    "The change",
    (
        Step(
            "A plan for the two steps that are left, and the change itself. You see its exact diff "
            "before anything is written.",
            calls=(
                _plan("doing", "todo"),
                Call(
                    "fs-edit",
                    {
                        "path": "portions.py",
                        "old": "wanted_for // written_for",
                        "new": "wanted_for / written_for",
                    },
                ),
            ),
        ),
        Step(
            "The file is changed. Whether that was right, the tests tell.",
            calls=(Call("shell", {"command": _TEST}),),
            instead={
                "refused": "You kept the file as it was. The tests show where that leaves us."
            },
        ),
        Step(
            "The tests did not run to their end. Both steps of the plan are behind us, though.",
            calls=(_plan("done", "done"),),
            instead={
                "passed": "The tests pass, so both steps are done.",
                "failed": "The tests still fail, as they must without the change. For the tour's "
                "sake I call both steps done; a model should not.",
            },
        ),
        Step(
            f"""\
That was one run: your message, four requests, their calls and results. **Always**, where a \
question offers it, saves a pattern such as `shell: {_TEST}` to your own settings. A repository \
can never set what is allowed.

{_ON}"""
        ),
    ),
)

_WINDOW = Chapter(
    "What the window holds",
    (
        Step(
            f"""\
The bar is the model's context window: the system prompt and tools first, then the conversation, \
and what this turn added. The ticks are **low** and **high** water, and at the end is the ceiling. \
Above high water the oldest results are left out until low water is reached; their place keeps a \
line that says what stood there, and the model can bring each back.

Nothing is lost by that. This session is a log that is only ever added to, and every request can \
be rebuilt from it byte for byte: `nodwyn replay` prints the conversation, and with `--window` one \
request, checked against the digest that was recorded when it was sent. `/clear` begins a new \
window in the same session; what was before stays in the log.

{_ON}"""
        ),
    ),
)

_CONNECT = Chapter(
    "A model of your own",
    (
        Step(
            """\
Three ways to go on with a real model:

- **On this machine:** install Ollama, `ollama pull` a model that can call tools, and start \
`nodwyn`. It is found by itself.
- **Hosted:** put the key into its usual variable, and name the model: \
`export OPENROUTER_API_KEY=…`, then `nodwyn --model openrouter/VENDOR/MODEL`. DeepSeek, Cerebras, \
Groq and others work the same way.
- **Any other server** that speaks chat completions, Anthropic's protocol or Ollama's: an entry \
in `config.toml`, as `config.toml.example` shows. No key ever stands in that file, only the place \
where it is kept.

Then open your own project: `nodwyn path/to/project`. `/model` changes the model at any time.

That was the tour. Leave with **Ctrl+C** twice, or `/quit`."""
        ),
    ),
)

CHAPTERS: tuple[Chapter, ...] = (_WELCOME, _LOOK, _ASK, _FIND, _CHANGE, _WINDOW, _CONNECT)

FAREWELL = """\
The tour is over: its guide has nothing more to say. `/quit` leaves; `nodwyn --tour` begins it \
anew; `/help` shows every command and key. For answers, start `nodwyn` with a real model."""

NOTE = """\
This is a tour with a script, so the note says only where it stands: at the chapter above. A real \
model writes down what you want, what is done and what comes next. `/compact undo` takes it back; \
with any message the tour goes on from here."""
"""The guide's handover note, below the chapter's heading."""
