"""The tools on offer, in the order in which every catalogue has them, and the reading of a call to
one. Nothing is repaired here: a call whose arguments are not whole is never run (C32).
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from nodwyn_tui.domain.arguments import Malformed, read_arguments
from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.base import Arguments, Tool
from nodwyn_tui.tools.fs_edit import FsEdit
from nodwyn_tui.tools.fs_glob import FsGlob
from nodwyn_tui.tools.fs_list import FsList
from nodwyn_tui.tools.fs_read import FsRead
from nodwyn_tui.tools.fs_search import FsSearch
from nodwyn_tui.tools.fs_write import FsWrite
from nodwyn_tui.tools.memory import MemoryTool
from nodwyn_tui.tools.plan_write import PlanWrite
from nodwyn_tui.tools.session_history import SessionHistory
from nodwyn_tui.tools.shell import Shell
from nodwyn_tui.tools.skill import SkillTool

_SHOWN = 80
"""Characters of a wrong value that an error shows."""


def default_tools(environment: Mapping[str, str], *, skills: bool = False) -> tuple[Tool[Any], ...]:
    """New tools for one session, with `skill` for one that has any. `environment` is what processes
    get that tools start: free of every credential of this program (SEC-1). Its `HOME` is what `~`
    means.
    """
    home = Path(environment["HOME"]) if environment.get("HOME") else None
    return (
        FsRead(home),
        FsList(home),
        FsGlob(home),
        FsSearch(environment, home),
        FsWrite(home),
        FsEdit(home),
        Shell(environment, home),
        PlanWrite(),
        MemoryTool(),
        SessionHistory(),
        *((SkillTool(),) if skills else ()),
    )


def parse_arguments(tool: Tool[Arguments], text: str) -> Arguments:
    """The arguments of a call, from the text that the model gave. Raises `ToolError` that says what
    to give instead. A number in quotes passes as a number, `null` as absent, and no text at all as
    no arguments; nothing else is made up.
    """
    name = tool.spec.name
    value = read_arguments(text)
    if isinstance(value, Malformed):
        raise ToolError(f"{name}: {_wrong(text, value)}")
    given = {key: item for key, item in value.items() if item is not None}
    try:
        return tool.arguments.model_validate(given)
    except ValidationError as error:
        told = "; ".join(_told(detail) for detail in error.errors(include_url=False)[:5])
        known = ", ".join(tool.arguments.model_fields)
        raise ToolError(f"{name}: {told}. Nothing was run; the arguments are: {known}.") from error


def _wrong(text: str, found: Malformed) -> str:
    if found.cut:
        return (
            f"the arguments end in the middle, after {len(text):,} characters: the reply was cut"
            " off. Nothing was run or written. Call again with less in one call: write a long file"
            " in parts (the first with fs-write, each further one with fs-edit)."
        )
    if found.at is None:
        return f"the arguments {found.why}; nothing was run."
    near = json.dumps(text[max(found.at - 20, 0) : found.at + 20])
    return (
        f"the arguments are no valid JSON ({found.why}, at character {found.at + 1}, near"
        f" {near}); nothing was run. Send one JSON object."
    )


def _told(detail: ErrorDetails) -> str:
    where = re.sub(r"\.(\d+)", r"[\1]", ".".join(str(step) for step in detail["loc"]))
    match detail["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"{where} is not known"
        case _:
            shown = json.dumps(detail["input"], default=str)
            shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
            return f"{where}: {detail['msg'].lower()} (you gave {shown})"
