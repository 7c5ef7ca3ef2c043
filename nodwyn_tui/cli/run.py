"""`nodwyn run`: one run without the screen, on the same worker, in this process.

Standard output holds only what was asked for; progress and warnings go to standard error.
"""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TextIO

from nodwyn_tui.cli.asked import open_command, session_options
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import UsageError
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.local import LocalLink
from nodwyn_tui.wiring import work

INTERRUPTED = 130


def run(arguments: Sequence[str]) -> int:
    """Parses the options, runs, prints, and gives the exit code."""
    parsed = _parser().parse_args(arguments)
    report = Report()
    try:
        command = _open(parsed)
        text = _prompt(parsed.prompt)
        asyncio.run(_run(command, text, report, parsed.format))
    except UsageError as error:
        report.fail("usage", str(error), error.exit_code)
    except KeyboardInterrupt:
        report.interrupt()
    finally:
        # Also where a bug ends the run: whoever reads the output gets an object on every exit.
        report.print(parsed.format, sys.stdout, sys.stderr)
    return report.exit_code


@dataclass(slots=True)
class Report:
    """What is printed at the end: the contract of `--format json`."""

    session: str = ""
    text: str = ""
    stop: str = "error"
    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    changed_files: tuple[str, ...] = ()
    errors: list[dict[str, str]] = field(default_factory=list)
    exit_code: int = 1

    def fail(self, kind: str, message: str, exit_code: int) -> None:
        """One more thing that went wrong; the exit code is the last one's."""
        self.errors.append({"kind": kind, "message": message})
        self.exit_code = exit_code

    def interrupt(self) -> None:
        """The person, or the system, wants it to end."""
        self.stop, self.exit_code = "interrupted", INTERRUPTED

    def ended(self, event: up.RunEnded) -> None:
        """The run is over."""
        self.text, self.stop, self.requests = event.text, event.why, event.requests
        self.usage, self.changed_files = event.usage or Usage(), event.changed_files
        if event.why == "done":
            self.exit_code = 0
        else:
            self.fail(event.kind or event.why, event.message, event.exit_code)

    def print(self, form: str, out: TextIO, err: TextIO) -> None:
        """Prints what the format asks for; errors go to standard error unless they are in it."""
        if form == "json":
            print(json.dumps(self.value(), ensure_ascii=False), file=out)
        elif form == "text" and self.text:
            print(self.text, file=out)
        for error in self.errors:
            print(f"nodwyn: {error['message']}", file=err)

    def value(self) -> dict[str, object]:
        """The object of `--format json`."""
        names = ("prompt_tokens", "cached_tokens", "cache_write_tokens", "output_tokens",
                 "reasoning_tokens", "cost_usd")  # fmt: skip
        usage = asdict(self.usage)
        return {
            "session": self.session,
            "text": self.text,
            "stop": self.stop,
            "requests": self.requests,
            "usage": {name: usage[name] for name in names},
            "changed_files": list(self.changed_files),
            "errors": self.errors,
        }


async def _run(command: commands.Open, text: str, report: Report, form: str) -> None:
    """Opens, sends, and follows the run to its end. The first SIGINT stops the run in order."""
    link = LocalLink()
    worker = asyncio.create_task(work(link))
    worker.add_done_callback(lambda _: link.end())
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(name, _stop, link, report)
    link.send(command)
    progress = Progress(sys.stderr)
    async for event in link.events():
        match event:
            case up.Opened():
                _opened(event, link, text, report)
            case up.LogLine() if form == "jsonl":
                print(event.line, flush=True)  # noqa: T201 - the output
            case up.RunEnded():
                report.ended(event)
                link.send(commands.Close())
            case up.Failed():
                report.fail(event.kind or "failed", event.message, event.exit_code)
            case _:
                progress.show(event)
    await worker


def _stop(link: LocalLink, report: Report) -> None:
    """Ends the run and the session in order; what was running is ended with it."""
    report.interrupt()
    link.send(commands.Interrupt())
    link.send(commands.Close())


def _opened(event: up.Opened, link: LocalLink, text: str, report: Report) -> None:
    report.session = event.session
    if event.read_only:
        report.fail(
            "locked",
            f"process {event.holder_pid} has this session open; start a new one, or end that one",
            1,
        )
    elif event.setup:
        report.fail("no_model", event.setup, 2)
    else:
        link.send(commands.Send(text=text))
        return
    link.send(commands.Close())


class Progress:
    """What happens meanwhile, a line each, for whoever watches standard error."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: up.UpEvent) -> None:
        """One event; most are not for this front."""
        match event:
            case up.EntryChanged(entry=entry) if entry.status in ("ok", "failed", "refused"):
                mark = {"ok": "✓", "failed": "✗", "refused": "⊘"}[entry.status]
                self._line(f"{mark} {entry.title}")
            case up.EntryAdded(entry=entry) if entry.kind in ("divider", "note"):
                self._line(f"· {entry.title or entry.preview}")
            case up.RetryWaiting():
                self._line(f"· asking again in {event.seconds:.0f} s: {event.reason}")
            case up.Notice():
                self._line(f"{event.level}: {event.text}")
            case up.Unsaved(count=count) if count:
                self._line(f"warning: {count} events are not on the disk: {event.why}")
            case _:
                pass

    def _line(self, text: str) -> None:
        inert = "".join(
            char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text
        )
        print(inert, file=self._out, flush=True)


def _prompt(given: str) -> str:
    text = sys.stdin.read() if given == "-" else given
    if not text.strip():
        raise UsageError("the prompt is empty; give it with -p TEXT, or as standard input: -p -")
    return text


def _open(parsed: argparse.Namespace) -> commands.Open:
    if parsed.yes and not parsed.no_sandbox:
        raise UsageError(
            "--yes runs everything the model asks for, so it needs a working sandbox, and this"
            " build has none yet: allow what you expect with --allow 'TOOL: GLOB', or add"
            " --no-sandbox to accept the risk"
        )
    if parsed.mode == "auto" and not parsed.no_sandbox:
        raise UsageError("mode auto needs a sandbox, and this build has none: add --no-sandbox")
    return replace(
        open_command(parsed, parsed.workspace),
        headless=True,
        want_log=parsed.format == "jsonl",
        allow=tuple(parsed.allow),
        yes=parsed.yes,
        no_sandbox=parsed.no_sandbox,
        max_steps=parsed.max_steps,
        max_seconds=parsed.max_seconds,
        max_cost=parsed.max_cost,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nodwyn run", description="One run without the screen.")
    add = parser.add_argument
    add("-p", "--prompt", required=True, metavar="TEXT", help="the request; - is standard input")
    add("--format", choices=("text", "json", "jsonl"), default="text")
    add("--workspace", default=".", metavar="DIR", help="the folder to work in (default: here)")
    add("--allow", action="append", default=[], metavar="PATTERN",
        help="TOOL: GLOB that needs no question, as 'shell: git status'; * is all")  # fmt: skip
    add("--yes", action="store_true", help="mode auto; needs --no-sandbox in this build")
    add("--no-sandbox", action="store_true", help="run commands without a sandbox")
    add("--max-steps", type=_positive_int, metavar="N", help="requests at most")
    add("--max-seconds", type=_positive, metavar="N")
    add("--max-cost", type=_positive, metavar="USD")
    session_options(parser)
    return parser


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be above 0")
    return value


def _positive_int(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value
