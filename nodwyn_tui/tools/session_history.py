"""`session_history`: reads back what left the window (ROL-11)."""

from typing import Literal

from pydantic import Field

from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Ask, Context, Effect, Outcome
from nodwyn_tui.tools.output import cleaned, never_blank

PAGE = 8_000
LARGEST_PAGE = 16_000


class HistoryArguments(Model):
    """`offset` and `limit` count characters."""

    action: Literal["read_item"]
    item: str = Field(pattern=r"^i:\d+$", description="i:N")
    offset: int = Field(0, ge=0)
    limit: int = Field(PAGE, ge=1, le=LARGEST_PAGE)


class SessionHistory:
    """`text` is a page of an item, framed as historical data by the port."""

    effect: Effect = "read"
    arguments = HistoryArguments

    def __init__(self) -> None:
        self.spec = spec_of(
            "session_history",
            "Read an earlier message or result of this session again, such as [elided seq=N].",
            HistoryArguments,
        )

    async def describe(self, arguments: HistoryArguments, context: Context) -> Ask:  # noqa: ARG002 - the port's form
        return Ask(title=f"Read back {arguments.item}", subject=arguments.item)

    async def run(self, arguments: HistoryArguments, context: Context) -> Outcome:
        page = context.history.read_item(arguments.item, arguments.offset, arguments.limit)
        text = never_blank(cleaned(page))
        return Outcome(text=text, lines=text.count("\n") + 1)
