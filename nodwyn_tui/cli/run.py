"""`nodwyn run`: one run without the screen, on the same worker, in this process.

Standard output holds only what was asked for; progress and warnings go to standard error.
"""

import argparse
import asyncio
import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from nodwyn_tui.cli import output
from nodwyn_tui.cli.asked import open_command, positive, positive_int, session_options
from nodwyn_tui.config.checks import is_pattern
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import StoreError, UsageError
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import Attach, Attached, AttachRefused, ImageAttached
from nodwyn_tui.link.local import LocalLink
from nodwyn_tui.wiring import work

FAILED = 1
INTERRUPTED = 130
MARKS = {"ok": "✓", "failed": "✗", "refused": "⊘"}
LEAVES = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(arguments: Sequence[str]) -> int:
    """Parses the options, runs, prints, and gives the exit code."""
    parsed = _parser().parse_args(arguments)
    report = Report()
    try:
        command = _open(parsed)
        text = _prompt(parsed.prompt)
        message = Message(text, tuple(map(_image, parsed.image)))
        asyncio.run(_run(command, message, report, parsed.format))
    except UsageError as error:
        report.fail("usage", str(error), error.exit_code)
    except KeyboardInterrupt:
        report.interrupted()
    except BaseException:
        report.fail("bug", "this program failed; what it says below is for its makers", FAILED)
        report.print(parsed.format)
        raise
    return report.print(parsed.format)


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent: a text, and the absolute paths of images that go with it."""

    text: str
    images: tuple[str, ...] = ()


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
    exit_code: int = FAILED

    def fail(self, kind: str, message: str, exit_code: int) -> None:
        """One more thing that went wrong; the exit code is the last one's."""
        self.errors.append({"kind": kind, "message": message})
        self.exit_code = exit_code

    def interrupted(self) -> None:
        """Ended from outside before there was a run to end."""
        self.stop = "interrupted"
        self.fail("interrupted", "interrupted", INTERRUPTED)

    def ended(self, event: up.RunEnded) -> None:
        """The run is over."""
        self.text, self.stop, self.requests = event.text, event.why, event.requests
        self.usage, self.changed_files = event.usage or Usage(), event.changed_files
        if event.why == "done":
            self.exit_code = 0
        else:
            self.fail(event.kind or event.why, event.message, event.exit_code)

    def print(self, form: str) -> int:
        """Prints what the format asks for, errors on standard error as well; the exit code."""
        try:
            if form == "json":
                output.json_line(self.value())
            elif form == "text" and self.text:
                output.show(self.text)
        except BrokenPipeError:
            output.reader_left()  # what the run came to is told by the exit code all the same
        except StoreError as error:
            self.fail("output", str(error), error.exit_code)
        for each in self.errors:
            output.tell(f"nodwyn: {each['message']}")
        return self.exit_code

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


async def _run(command: commands.Open, message: Message, report: Report, form: str) -> None:
    """Opens, sends, and follows the run to its end."""
    link = LocalLink()
    worker = asyncio.create_task(work(link))
    worker.add_done_callback(lambda _: link.end())
    front = _Front(link, worker, message, report, lines=form == "jsonl")
    for number in LEAVES:
        asyncio.get_running_loop().add_signal_handler(number, front.stop)
    link.send(command)
    async for event in link.events():
        front.take(event)
    await asyncio.wait([worker])
    if worker.cancelled():
        report.interrupted()
    front.closed()
    if not worker.cancelled():
        worker.result()


class _Front:
    """The front of one run: sends the message once the session is open, closes it once the run has
    ended, and stops in order what a signal or a lost reader ends (AGT-3).
    """

    def __init__(
        self,
        link: LocalLink,
        worker: "asyncio.Task[None]",
        message: Message,
        report: Report,
        *,
        lines: bool,
    ) -> None:
        self._link, self._worker, self._report = link, worker, report
        self._message, self._images = message, list[str]()
        self._lines = lines
        self._may_interrupt = False
        self._unsaved = self._unwritten = ""
        self._progress = Progress()

    def stop(self) -> None:
        """Ends the run with its log in order; the second time, or before there is a run, whatever
        goes on.
        """
        if self._may_interrupt:
            self._link.send(commands.Interrupt())
        else:
            self._worker.cancel()
        self._may_interrupt = False

    def take(self, event: up.UpEvent) -> None:
        """One event of the worker."""
        match event:
            case up.Opened():
                self._opened(event)
            case ImageAttached(image=image):
                self._attached(image)
            case AttachRefused(reason=reason):
                self._report.fail("usage", f"--image: {reason}", UsageError.exit_code)
                self._link.send(commands.Close())
            case up.LogLine():
                self._line(event.line)
            case up.RunEnded():
                self._report.ended(event)
                self._link.send(commands.Close())
            case up.Failed():
                for message in event.each or (event.message,):
                    self._report.fail(event.kind or "failed", message, event.exit_code)
            case up.Unsaved():
                count = f"{event.count} events of the log are not on the disk"
                self._unsaved = f"{count}: {event.why}" if event.count else ""
                self._progress.show(event)
            case _:
                self._progress.show(event)

    def closed(self) -> None:
        """The worker has left. A run whose log is not whole on the disk is no success (C68)."""
        if self._unsaved:
            self._report.fail("store", self._unsaved, self._report.exit_code or FAILED)
        if self._unwritten:
            self._report.fail("output", self._unwritten, FAILED)

    def _opened(self, event: up.Opened) -> None:
        self._report.session = event.session
        for problem in event.problems:
            output.tell(f"warning: {problem.text}")
        if event.read_only:
            words = f"process {event.holder_pid} has this session open; start a new one, or end it"
            self._report.fail("locked", words, FAILED)
        elif event.setup:
            self._report.fail("no_model", f"no model is set up yet\n{event.setup}", 2)
        else:
            self._send()
            return
        self._link.send(commands.Close())

    def _send(self) -> None:
        """The next image is attached, one after the other; then the message goes with all."""
        if len(self._images) < len(self._message.images):
            path = self._message.images[len(self._images)]
            self._link.send(Attach(text=path, sure=True))
            return
        self._link.send(commands.Send(text=self._message.text, images=tuple(self._images)))
        self._may_interrupt = True

    def _attached(self, image: Attached) -> None:
        if image.note:
            output.tell(f"· {image.name}: {image.note}")
        self._images.append(image.sha256)
        self._send()

    def _line(self, line: str) -> None:
        """A log event as it comes. Where nobody takes them any more, the run is stopped."""
        if not self._lines:
            return
        try:
            output.data(line.encode("utf-8") + b"\n")
        except BrokenPipeError:
            self._stop_printing("")
        except StoreError as error:
            self._stop_printing(str(error))

    def _stop_printing(self, why: str) -> None:
        output.reader_left()
        self._lines, self._unwritten = False, why
        self.stop()


class Progress:
    """What happens meanwhile, a line each, for whoever watches standard error."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def show(self, event: up.UpEvent) -> None:
        """One event; most are not for this front."""
        match event:
            case up.EntryChanged(entry=entry) if entry.status in MARKS:
                if entry.id not in self._told:
                    self._told.add(entry.id)
                    self._line(f"{MARKS[entry.status]} {entry.title}")
            case up.EntryAdded(entry=entry) if entry.kind in ("divider", "note", "guidance"):
                self._line(f"· {entry.title or entry.preview}")
            case up.RetryWaiting():
                when = f"in {event.seconds:.0f} s" if event.seconds else "now"
                self._line(f"· asking again {when}: {event.reason}")
            case up.Notice():
                self._line(f"{event.level}: {event.text}")
            case up.Unsaved(count=count) if count:
                self._line(f"warning: {count} events are not on the disk: {event.why}")
            case _:
                pass

    def _line(self, text: str) -> None:
        output.tell(" ".join(text.split()))


def _prompt(given: str) -> str:
    text = _standard_input() if given == "-" else given
    if not text.strip():
        raise UsageError("the prompt is empty; give it with -p TEXT, or as standard input: -p -")
    return text


def _image(given: str) -> str:
    """An image's path, from where the command was given, in a form that is no other; a `file://`
    address as it is.
    """
    if given[:7].lower() == "file://":
        return given
    return shlex.quote(str(Path(given).expanduser().absolute()))


def _standard_input() -> str:
    if sys.stdin is None:
        raise UsageError("standard input is closed; give the prompt with -p TEXT")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    except OSError as error:
        raise UsageError(f"standard input cannot be read: {error.strerror or error}") from error


def _open(parsed: argparse.Namespace) -> commands.Open:
    if parsed.yes and not parsed.no_sandbox:
        raise UsageError(
            "--yes runs everything the model asks for, so it needs a working sandbox, and this"
            " build has none yet: allow what you expect with --allow 'TOOL: GLOB', or add"
            " --no-sandbox to accept the risk"
        )
    if parsed.mode == "auto" and not parsed.no_sandbox:
        raise UsageError("mode auto needs a sandbox, and this build has none: add --no-sandbox")
    for pattern in parsed.allow:
        if not is_pattern(pattern):
            raise UsageError(
                f"--allow {pattern!r} is no pattern; give TOOL: GLOB, as 'shell: git status', or *"
            )
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
        max_tokens=parsed.max_tokens,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nodwyn run", description="One run without the screen.")
    add = parser.add_argument
    add("-p", "--prompt", required=True, metavar="TEXT", help="the request; - is standard input")
    add("--image", action="append", default=[], metavar="FILE",
        help="an image that goes with the request; repeatable")  # fmt: skip
    add("--format", choices=("text", "json", "jsonl"), default="text",
        help="the reply's text, one JSON object, or the log's events as they come")  # fmt: skip
    add("--workspace", default=".", metavar="DIR", help="the folder to work in (default: here)")
    add("--allow", action="append", default=[], metavar="PATTERN",
        help="TOOL: GLOB that needs no question, as 'shell: git status'; * is all")  # fmt: skip
    add("--yes", action="store_true", help="mode auto; needs --no-sandbox in this build")
    add("--no-sandbox", action="store_true", help="run commands without a sandbox")
    add("--max-steps", type=positive_int, metavar="N", help="requests at most")
    add("--max-seconds", type=positive, metavar="N", help="seconds at most")
    add("--max-cost", type=positive, metavar="USD", help="US dollars at most")
    add("--max-tokens", type=positive_int, metavar="N",
        help="tokens read and written at most; one read from the cache counts a tenth")  # fmt: skip
    session_options(parser)
    return parser
