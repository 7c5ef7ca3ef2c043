"""A session's folder on a real disk, a clock that is told the time, and events of every kind."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block, Call, Text, Thinking
from nodwyn_tui.domain.recipe import Recipe, WindowLimits
from nodwyn_tui.domain.request import ToolSpec
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.places import make_session_folder
from nodwyn_tui.store.redact import Redactor

NAME = "20260102T030405Z-00c0ffee"


class ToldClock:
    """Goes on by a second at each look, from the time it was told."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()


def session_folder(workspace: Path) -> Path:
    """A session's folder in a workspace, made."""
    folder = workspace / ".nodwyn" / "sessions" / NAME
    make_session_folder(folder)
    return folder


def new_log(workspace: Path) -> Log:
    """A new log with its `session.start`."""
    log = Log.create(session_folder(workspace), ToldClock(), Redactor())
    log.append(start())
    return log


def open_log(workspace: Path) -> tuple[Log, ev.Event | None, tuple[ev.Event, ...]]:
    """An existing log, its `session.recovered` if it was damaged, and all its events."""
    log, contents = Log.open(session_folder(workspace), ToldClock(), Redactor())
    report = contents.events[-1] if contents.damage else None
    return log, report, contents.events


def start() -> ev.SessionStart:
    return ev.SessionStart(session=NAME, workspace="/w", app="0", recipe=recipe())


def recipe() -> Recipe:
    return Recipe(
        version=20,
        system="You help. 中\u2028",
        tools=(ToolSpec("fs-read", "Reads.", {"type": "object", "properties": {"path": {}}}),),
        window=WindowLimits(
            high_water=3, low_water=2, ceiling=4, max_result_tokens=1, output_reserve=1
        ),
        num_ctx=5,
        max_output=1,
        keep_reasoning="latest",
        class_caps={"shell": 7},
    )


def turn(number: int) -> ev.Event:
    """A turn of a conversation: the person's, or a reply."""
    text = f"turn {number} \u2013 größe {number}"
    if number % 2 == 0:
        return ev.UserMessage(text=text)
    return ev.LlmResponse(req=1, parts=(Text(text),), finish="stop")


def called_reply(count: int = 2) -> tuple[ev.Event, ...]:
    """A reply that calls tools: one batch of `count` + 1 events."""
    calls = [Call(f"c{n}", "shell", f'{{"command":"echo {n}"}}') for n in range(count)]
    return (
        ev.LlmResponse(req=1, parts=(Thinking("hm"), *calls), finish="calls"),
        *(ev.ToolCall(resp=1, call_id=c.id, name=c.name, arguments=c.arguments) for c in calls),
    )


def one_of_each() -> list[ev.Event]:
    """A draft of every type of line, with every kind of field in it."""
    model = ev.ModelRef(name="m", server="s", provider="openai", id="m-1", origin="s/m-1")
    place = {"session": NAME, "workspace": "/w", "app": "0", "recipe": recipe()}
    image = {"sha256": "ab" * 32, "mime": "image/png", "width": 3, "height": 2, "tokens": 9}
    return [
        ev.SessionStart(**place),
        ev.SessionResume(**place, forked_from=NAME),
        ev.SessionRecipe(**place),
        ev.SessionRecovered(missing=(3, 4), bytes=17),
        ev.SessionTitle(title="A title", why="person"),
        ev.SessionEnd(why="closed"),
        ev.Note(text="mind this", audience="both", why="x"),
        ev.UserMessage(text="hello\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029 there", via="steer"),
        ev.UserQueued(text="later", when="steer", dropped=True),
        ev.AttachImage(**image, name="a.png", bytes=70, host="h", line="[image]"),
        ev.AttachConfirm(sha256="ab" * 32, host="h"),
        ev.LlmRequest(
            purpose="subagent",
            model=model,
            parameters=ev.Parameters(think="high", keep_reasoning="latest"),
            digest="cd" * 32,
            estimate=5,
            elided=(1, 2),
            high_water=8,
            no_tools=True,
            offered_tools=("shell",),
            withheld_images=(ev.WithheldImage(sha256="ab" * 32, reason="too many"),),
            fresh=(3,),
            predicted_cached=0,
            prefix_ended_by="first",
        ),
        ev.LlmResponse(
            req=1,
            parts=(
                Thinking("hm"),
                Block("thinking", "s/m-1", '{"signature":"\u2028"}'),
                Text("ok"),
                Call("c1", "shell", "{", "0"),
            ),
            thinking_field="reasoning",
            finish="calls",
            usage=Usage(prompt_tokens=3, cost_usd=0.25),
            first_token_ms=1,
            ms=2,
        ),
        ev.LlmError(req=1, kind="overloaded", status=529, message="busy", retry_in_s=1.5),
        ev.ToolCall(resp=1, call_id="c1", name="shell", arguments="{"),
        ev.ToolResult(call_id="c1", name="shell", text="", images=(ev.ImageRef(**image),), ms=3),
        ev.Approval(call_id="c1", decision="refused", scope="once", reason="no"),
        ev.ModeChange(mode="plan"),
        ev.JobStart(id="j1", command="sleep 9"),
        ev.JobEnd(id="j1", exit=-9),
        ev.ResultFold(target=3, text="(folded)", why="stale"),
        ev.WindowEdit(target=3, action="drop"),
        ev.WindowRewind(to=3, why="undo"),
        ev.GatePlan(text="1. go", items=(ev.PlanItem(text="go", state="doing"),)),
        ev.SkillUse(name="s", digest="ef" * 32),
        ev.SummaryAdd(first=1, last=3, text="so", source_digest="ef" * 32),
        ev.SummaryRevoke(target=9),
        ev.ContextOpen(id=1, parent=0, kind="subagent", system="s", offered_tools=()),
        ev.ContextClose(id=1, report="done"),
        ev.FreshContext(
            kind="git",
            trust="data",
            text="t",
            digest="ef" * 32,
            placement="run_start",
            supersedes=2,
        ),
        ev.Recall(
            facts=(
                ev.RecalledFact(
                    text="t", date="", keeper="person", words=("t",), later=2, sent=True
                ),
            ),
            matched=1,
            known=3,
            cap=9,
        ),
        ev.WindowReset(kind="rollover", rollover_id="r", flush_opportunity=True, max_tokens=9),
        ev.WindowLeadIn(rollover_id="r", text="go on"),
        ev.BudgetWarning(text="~60 %", figures={"used": 6, "of": [10, None, 0.5]}),
        ev.BudgetBlocked(reason="too long", figures={"over": 3}, remedies=("shorten it",)),
        ev.RunEnd(why="done"),
    ]
