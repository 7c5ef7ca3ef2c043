"""One skill as its `SKILL.md` has it, in the public form (ORD-10): YAML between two lines of `---`
with a `name` and a `description`, then Markdown. Where skills lie is `skills.py`'s.

The YAML is read as text and never made into anything: no tag, alias or number in it has an effect.
"""

import re
from collections.abc import Mapping

import yaml

from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.skills import LONGEST_NAME, Content, one_line

LARGEST_HEAD = 16 * 1024
"""Bytes of the front matter."""
LONGEST_DESCRIPTION = 1024

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE = "---"
_Fields = Mapping[str, tuple[str | None, int]]
"""Values of the front matter, `None` for what is no plain text, each with its line."""


def read(data: bytes, shown: str, folder: str) -> Content:
    """The skill in the bytes of a file that lies in `folder`. Raises `StoreError`: it says where,
    calling the file `shown`, what is wrong there, and what to do.
    """
    lines = _text(data, shown).split("\n")
    if lines[0].rstrip() != _FENCE:
        raise _wrong(shown, 1, f"begins without front matter; make {_FENCE} its first line")
    ends = (at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE)
    if (end := next(ends, None)) is None:
        raise _wrong(shown, 1, f"its front matter has no end; put a line {_FENCE} behind it")
    head = "\n".join(lines[1:end])
    if len(head.encode()) > LARGEST_HEAD:
        raise _wrong(shown, 1, f"its front matter has more than {LARGEST_HEAD:,} bytes; shorten it")
    fields = _fields(head, shown)
    first = next((at for at, line in enumerate(lines[end + 1 :], end + 2) if line.strip()), None)
    if first is None:
        raise _wrong(shown, end + 1, "has nothing below its front matter; write what is to be done")
    return Content(
        name=_name(fields, shown, folder),
        description=_description(fields, shown),
        body="\n".join(lines[first - 1 :]).rstrip(),
        first=first,
        digest=sha256(data),
    )


def _text(data: bytes, shown: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _wrong(shown, line, "is not UTF-8 text; save it as UTF-8") from error
    if "\0" in text:
        raise _wrong(shown, text.count("\n", 0, text.index("\0")) + 1, "is no text; mend it")
    return text.replace("\r\n", "\n")


def _fields(head: str, shown: str) -> _Fields:
    """The values of the front matter that begins at line 2."""
    try:
        root = yaml.compose(head, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = one_line(error.problem or error.context or "it can't be read")
        line = mark.line + 2 if mark else 2
        remedy = "; put a value with `: ` in it in quotes" if "mapping values" in problem else ""
        raise _wrong(shown, line, f"its front matter is no YAML: {problem}{remedy}") from error
    except (yaml.YAMLError, RecursionError) as error:
        told = "nested too deep" if isinstance(error, RecursionError) else one_line(str(error))
        raise _wrong(shown, 2, f"its front matter is no YAML: {told}; mend it") from error
    if not isinstance(root, yaml.MappingNode):
        raise _wrong(
            shown, 2, "its front matter is no list of `key: value`; give name and description"
        )
    found: dict[str, tuple[str | None, int]] = {}
    for key, value in root.value:
        if isinstance(key, yaml.ScalarNode):
            text = value.value if isinstance(value, yaml.ScalarNode) else None
            found[key.value] = (text, value.start_mark.line + 2)
    return found


def _name(fields: _Fields, shown: str, folder: str) -> str:
    name, line = _given(fields, "name", shown)
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise _wrong(
            shown,
            line,
            f"the name {one_line(name)[:LONGEST_NAME]!r} can't be one: 1 to {LONGEST_NAME} of"
            " a-z, 0-9 and single hyphens; rename it, and its folder alike",
        )
    if name != folder:
        told = f"the name {name!r} is not its folder's, {one_line(folder)!r}; rename one of them"
        raise _wrong(shown, line, told)
    return name


def _description(fields: _Fields, shown: str) -> str:
    text, line = _given(fields, "description", shown)
    if len(text) > LONGEST_DESCRIPTION:
        raise _wrong(
            shown,
            line,
            f"the description has {len(text):,} characters, {LONGEST_DESCRIPTION:,} are allowed;"
            " shorten it",
        )
    return one_line(text)


def _given(fields: _Fields, key: str, shown: str) -> tuple[str, int]:
    text, line = fields.get(key, ("", 1))
    if text is None:
        raise _wrong(shown, line, f"{key} must be text; put it in quotes")
    if not one_line(text):
        raise _wrong(shown, line, f"has no {key}; add a line `{key}: …` between the {_FENCE}")
    return text.strip(), line


def _wrong(shown: str, line: int, what: str) -> StoreError:
    return StoreError(f"{shown}:{line} {what}")
