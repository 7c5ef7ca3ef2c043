"""`session_history`: lists, searches and reads back what left the window (ROL-11)."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Ask, Context, Effect, Outcome
from nodwyn_tui.tools.output import never_blank

LIMITS = {"list_windows": (50, 50), "search": (10, 25), "read_item": (8_000, 16_000)}
"""What an answer has unless told, and at most: windows, items, characters."""

LONGEST_QUERY = 500

ALLOWED = {
    "list_windows": {"cursor", "limit"},
    "search": {"query", "window", "cursor", "limit"},
    "read_item": {"item", "offset", "limit"},
}
NEEDED = {"search": "query", "read_item": "item"}

Query = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_QUERY)]


class HistoryArguments(Model):
    """`offset` counts characters; `limit` counts what the action gives."""

    action: Literal["list_windows", "search", "read_item"]
    query: Query | None = Field(None, description="literal text")
    window: str | None = Field(None, pattern=r"^w:\d+$", description="w:N")
    item: str | None = Field(None, pattern=r"^i:\d+$", description="i:N")
    offset: int | None = Field(None, ge=0)
    cursor: str | None = Field(None, max_length=200)
    limit: int | None = Field(None, ge=1)


class SessionHistory:
    """`text` is what the port gives, framed as historical data."""

    effect: Effect = "read"
    arguments = HistoryArguments

    def __init__(self) -> None:
        self.spec = spec_of(
            "session_history",
            "Looks up this session's earlier messages and results, also of earlier windows: search"
            " them, read one again (i:N, such as [elided seq=N]), or list the windows.",
            HistoryArguments,
        )

    async def describe(self, arguments: HistoryArguments, context: Context) -> Ask:  # noqa: ARG002 - the port's form
        _check(arguments)
        match arguments.action:
            case "list_windows":
                return Ask(title="List the session's windows")
            case "search":
                query = arguments.query or ""
                return Ask(title=f"Search the session for {query!r}", subject=query)
            case "read_item":
                return Ask(title=f"Read back {arguments.item}", subject=arguments.item or "")

    async def run(self, arguments: HistoryArguments, context: Context) -> Outcome:
        _check(arguments)
        text = never_blank(_answer(arguments, context))
        return Outcome(text=text, lines=text.count("\n") + 1)


def _answer(arguments: HistoryArguments, context: Context) -> str:
    history, cursor = context.history, arguments.cursor or ""
    limit = arguments.limit or LIMITS[arguments.action][0]
    match arguments.action:
        case "list_windows":
            return history.list_windows(cursor, limit)
        case "search":
            query, window = arguments.query or "", arguments.window or ""
            return history.search(query, window, cursor, limit)
        case "read_item":
            return history.read_item(arguments.item or "", arguments.offset or 0, limit)


def _check(arguments: HistoryArguments) -> None:
    """Raises `ToolError` for what does not go with the action."""
    action = arguments.action
    given = arguments.model_dump(exclude_none=True, exclude={"action"})
    if action in NEEDED and NEEDED[action] not in given:
        raise ToolError(f"session_history: {action} needs `{NEEDED[action]}`")
    if wrong := sorted(given.keys() - ALLOWED[action]):
        known = ", ".join(sorted(ALLOWED[action]))
        raise ToolError(f"session_history: {action} takes {known}; not {', '.join(wrong)}")
    most = LIMITS[action][1]
    if (arguments.limit or 0) > most:
        raise ToolError(f"session_history: limit is at most {most:,} for {action}")
