"""Globs over paths: `*` and `?` within a name, `**` over folders, `[…]`, `{a,b}`; a glob without a
`/` is matched with the name, in any folder.
"""

import re

from nodwyn_tui.errors import ToolError

_LONGEST = 1000
_MOST_STARS = 12
"""More let a match take time that grows with a high power of the name's length."""


def compiled(glob: str) -> re.Pattern[str]:
    """What `fullmatch`es the relative paths, with `/`, that `glob` names. Raises `ToolError`."""
    text = glob.removeprefix("./")
    if not text or len(text) > _LONGEST:
        raise ToolError("the glob must have 1 to 1000 characters, as in src/**/*.py.")
    if text.count("*") > _MOST_STARS:
        raise ToolError(f"the glob has more than {_MOST_STARS} stars; use a simpler one.")
    if "/" not in text:
        text = "**/" + text
    try:
        return re.compile(_regex(text.removeprefix("/")), re.DOTALL)
    except re.error as error:
        raise ToolError(f"{glob!r} is no glob ({error}); write it as in src/**/*.py.") from error


def _regex(glob: str) -> str:
    out: list[str] = []
    position, depth = 0, 0
    while position < len(glob):
        char = glob[position]
        if glob.startswith("**/", position) and (position == 0 or glob[position - 1] == "/"):
            out.append("(?:[^/]+/)*")
            position += 3
            continue
        if glob.startswith("**", position):
            out.append(".*")
            position += 2
            continue
        if char == "[" and (end := glob.find("]", position + 2)) > 0:
            out.append(_set(glob[position + 1 : end]))
            position = end + 1
            continue
        if char == "\\" and position + 1 < len(glob):
            position += 1
            out.append(re.escape(glob[position]))
        else:
            depth += (char == "{") - (char == "}")
            out.append(_single(char, depth))
        position += 1
    return "".join(out)


def _single(char: str, depth: int) -> str:
    match char:
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case "{":
            return "(?:"
        case "}":
            return ")"
        case "," if depth > 0:
            return "|"
        case _:
            return re.escape(char)


def _set(inner: str) -> str:
    negated = inner[0] in "!^"
    body = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner[1:] if negated else inner)
    return f"(?!/)[{'^' * negated}{body}]"
