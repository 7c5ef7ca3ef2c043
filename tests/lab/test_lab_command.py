"""`nodwyn lab`, as a real process."""

import contextlib
import csv
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab.record import SESSIONS

NODWYN = [sys.executable, "-m", "nodwyn_tui"]


def lab(*options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*NODWYN, "lab", *options], capture_output=True, text=True, timeout=120, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done


def test_json_of_a_folder_of_logs() -> None:
    """ENG-30: each policy under each cache model, over all logs."""
    told = json.loads(lab(str(SESSIONS), "--recipe", "16,20", "--json").stdout)
    assert [(each["policy"], each["cache_model"]) for each in told["policies"]] == [
        (policy, model)
        for policy in ("recipe=16", "recipe=20")
        for model in ("kv-slot", "blocks-128", "breakpoints", "breakpoints-implicit")
    ]
    assert len(told["logs"]) == 5
    assert {each["requests"] for each in told["policies"]} == {35}
    assert told["failures"] == []


def test_table_and_bars_of_one_log() -> None:
    log = str(SESSIONS / "trims.jsonl")
    options = ("--high", "recorded,9000", "--cache-model", "breakpoints", "--price", "2,.2,2.5,10")
    done = lab(log, *options)
    assert "recorded   breakpoints" in done.stdout
    assert "high=9000  breakpoints" in done.stdout
    assert "uncached prompt tokens, breakpoints" in done.stdout
    assert "?" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--strategy", "rollover", "--high", "9"), "under the strategy 'rollover' --high changes"),
        (
            ("--strategy", "rollover", "--threshold", "1"),
            "--threshold takes shares between 0 and 1",
        ),
        (
            ("--strategy", "rollover", "--threshold", "x"),
            "--threshold takes shares between 0 and 1",
        ),
        (("--strategy", "guess"), "there is no strategy 'guess'; there are: trim"),
        (("--order", "middle"), "there is no order 'middle'; there are: each_request"),
        (("--recipe", "5"), "recipe version 5 is not documented"),
        (("--high", "many"), "--high takes whole numbers of tokens"),
        (("--cache-model", "magic"), "there is no cache model 'magic'; there are: kv-slot"),
        (("--folds", "some"), "--folds takes recorded, on, off"),
        (("--recipe", "20..1"), "no recipe from 20 to 1 is documented"),
        (("--recipe", "3..5"), "no recipe from 3 to 5 is documented"),
        (("--jobs", "0"), "must be a whole number of at least 1, not '0'"),
    ],
)
def test_what_cannot_be_folded_is_a_usage_error(options: tuple[str, str], words: str) -> None:
    done = lab(str(SESSIONS), *options, code=2)
    assert words in done.stderr
    assert done.stdout == ""


def test_rows_are_saved(tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    log = str(SESSIONS / "chat.jsonl")
    assert lab(log, "--cache-model", "kv-slot", "--csv", str(target)).stdout == ""
    saved = target.read_text()
    assert len(list(csv.DictReader(saved.splitlines()))) == 3
    assert lab(log, "--cache-model", "kv-slot", "--csv", "-").stdout == saved


def test_pictures_are_saved_beside_what_is_printed(tmp_path: Path) -> None:
    """ENG-30; nothing is printed unless it was asked for."""
    pytest.importorskip("matplotlib", reason="the extra `lab` is not installed")
    log, chart, course = str(SESSIONS / "trims.jsonl"), tmp_path / "a.svg", tmp_path / "b.png"
    pictures = ("--cache-model", "kv-slot", "--chart", str(chart), "--course", str(course))
    assert lab(log, *pictures).stdout == ""
    assert chart.read_bytes().startswith(b"<?xml")
    assert course.read_bytes().startswith(b"\x89PNG")
    assert len(json.loads(lab(log, *pictures, "--json").stdout)["policies"]) == 1
    assert "--course draws the requests of one log" in lab(str(SESSIONS), *pictures, code=2).stderr


def test_bad_log_among_others_is_named_and_the_rest_is_folded(tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_bytes((SESSIONS / "chat.jsonl").read_bytes())
    lines = (SESSIONS / "chat.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "headless.jsonl").write_bytes(b"".join(lines[1:]))
    done = lab(str(tmp_path), "--json", code=1)
    assert "headless.jsonl: no recipe is recorded before the request" in done.stderr
    told = json.loads(done.stdout)
    assert {each["requests"] for each in told["policies"]} == {3}
    assert [Path(each["log"]).name for each in told["failures"]] == ["headless.jsonl"]


def test_nothing_folded_is_a_failure(tmp_path: Path) -> None:
    lines = (SESSIONS / "chat.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "headless.jsonl").write_bytes(b"".join(lines[1:]))
    assert "none of the logs could be folded" in lab(str(tmp_path), code=1).stderr
    assert "there is no session" in lab(str(tmp_path / "gone"), code=2).stderr


def test_progress_is_told_to_a_terminal_alone(tmp_path: Path) -> None:
    """Standard output holds only what was asked for."""
    ours, theirs = pty.openpty()
    command = [*NODWYN, "lab", str(SESSIONS), "--recipe", "16,20", "--json"]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=theirs, timeout=60, check=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    os.close(theirs)
    assert b"\rfolded 5 of 5\r\n" in os.read(ours, 65_536)
    os.close(ours)
    assert json.loads(done.stdout)


def test_one_job_is_as_good_as_many() -> None:
    options = (str(SESSIONS), "--json", "--recipe", "1,20")
    assert lab(*options, "--jobs", "1").stdout == lab(*options, "--jobs", "3").stdout
    assert "--jobs" in lab(*options, "--jobs", "0", code=2).stderr


def folding(
    folder: Path, logs: int, on_interrupt: Any, *options: str
) -> tuple[subprocess.Popen[bytes], int]:
    """A lab at work, and the terminal that it tells its progress to. At its start an interrupt is
    what it is for a command at a terminal (`SIG_DFL`), or nothing (`SIG_IGN`), as for one that a
    script put in the background; however this test itself was started.
    """
    for number in range(logs):
        copy = folder / f"{number}.jsonl"
        copy.write_bytes((SESSIONS / "trims.jsonl").read_bytes())
    ours, theirs = pty.openpty()
    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        process = subprocess.Popen(
            [*NODWYN, "lab", str(folder), *options, "--jobs", "2"],
            stdout=subprocess.PIPE, stderr=theirs, start_new_session=True,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    os.close(theirs)
    assert b"folded" in os.read(ours, 65_536)
    return process, ours


def test_interrupt_ends_it_at_once_and_quietly(tmp_path: Path) -> None:
    """Ctrl-C reaches every process of the group."""
    process, terminal = folding(tmp_path, 60, signal.SIG_DFL, "--recipe", "1..20")
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in _rest(terminal)


def test_interrupt_is_ignored_by_all_of_its_processes_or_by_none(tmp_path: Path) -> None:
    """In the background of a script, the Ctrl-C at the terminal is another program's."""
    process, terminal = folding(tmp_path, 6, signal.SIG_IGN, "--json")
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, _rest(terminal)
    assert len(json.loads(out)["logs"]) == 6
    assert b"6 of 6" in _rest(terminal)


def _rest(terminal: int) -> bytes:
    """What is still to be read of a terminal that its other side has left."""
    found = b""
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 65_536):
            found += piece
    os.close(terminal)
    return found


def test_session_is_found_by_its_id(tmp_path: Path) -> None:
    name = "20260102T030405Z-00c0ffee"
    folder = tmp_path / ".nodwyn" / "sessions" / name
    folder.mkdir(parents=True)
    (folder / "log.jsonl").write_bytes((SESSIONS / "chat.jsonl").read_bytes())
    done = subprocess.run(
        [*NODWYN, "lab", name, "--json"], capture_output=True, text=True, timeout=60, check=True,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert [Path(each["log"]).parent.name for each in json.loads(done.stdout)["logs"]] == [name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("form", [(), ("--json",), ("--csv", "-")])
def test_output_that_cannot_be_written_is_one_line_of_error(form: tuple[str, ...]) -> None:
    """REL-3: on a full disk, and with standard output closed by whoever started it."""
    command = [*NODWYN, "lab", str(SESSIONS / "chat.jsonl"), *form]
    root = Path(__file__).parents[2]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
            cwd=root,
        )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "cannot write standard output" in done.stderr
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True,
        timeout=60, check=False, cwd=root,
    )  # fmt: skip
    assert (closed.returncode, closed.stderr) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="names are Unicode there")
def test_log_whose_name_is_no_text_is_folded_like_others(tmp_path: Path) -> None:
    """REL-3: a file's name is bytes; what is printed and saved of it is UTF-8."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    (folder / "chat.jsonl").write_bytes((SESSIONS / "chat.jsonl").read_bytes())
    saved = tmp_path / "rows.csv"
    for form in ((), ("--json",), ("--csv", str(saved)), ("--csv", "-")):
        done = lab(str(folder), *form)
        assert done.stderr == ""
    rows = list(csv.DictReader(saved.read_text("utf-8").splitlines()))
    assert {Path(row["log"]).parent.name for row in rows} == {"caf\N{REPLACEMENT CHARACTER}"}
