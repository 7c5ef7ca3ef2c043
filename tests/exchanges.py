"""Exchanges with tools as `LogBuilder` records them: reads, edits, commands."""

import json
from collections.abc import Iterable

from nodwyn_tui.domain.parts import Call
from nodwyn_tui.window.folds import Fold
from tests.builders import LogBuilder


def call(log: LogBuilder, name: str, arguments: str, text: str = "ok", **fields: bool) -> int:
    """An exchange with one call; its result's seq."""
    number = f"c{len(log.events)}"
    log.reply(Call(number, name, arguments))
    return log.result(number, text, name=name, **fields).seq


def read(log: LogBuilder, path: str, text: str = "code " * 80, **lines: int) -> int:
    return call(log, "fs-read", json.dumps({"path": path, **lines}), text)


def edit(log: LogBuilder, path: str, **fields: bool) -> int:
    return call(log, "fs-edit", json.dumps({"path": path, "old": "a", "new": "b"}), **fields)


def begun() -> LogBuilder:
    log = LogBuilder(high_water=90_000, low_water=50_000, task_header="")
    log.user("go")
    return log


def targets(folds: Iterable[Fold]) -> list[int]:
    return [fold.target for fold in folds]
