"""Events to rows: what each kind of event says in a window, before anything is trimmed."""

from collections.abc import Mapping
from dataclasses import dataclass

from nodwyn_tui.domain.arguments import Malformed, read_arguments
from nodwyn_tui.domain.events import (
    AttachImage,
    BudgetWarning,
    FreshContext,
    GatePlan,
    ImageRef,
    LlmResponse,
    Note,
    SummaryAdd,
    ToolResult,
    UserMessage,
    WindowLeadIn,
)
from nodwyn_tui.domain.parts import Block, Call, Image, ReplyPart, Text, Thinking
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import AssistantRow, ToolRow, UserRow
from nodwyn_tui.window import blocks, cuts, tasks
from nodwyn_tui.window.entries import Entry, EntryKind, EntryState, make, remade
from nodwyn_tui.window.policy import Policy
from nodwyn_tui.window.summaries import SUMMARY_HEADER

READ_TOOL = "fs-read"
HISTORY_TOOL = "session_history"
NO_OUTPUT = "(no output)"
NO_ANSWER = "(no answer)"
HANDOVER = "handover"
"""Why a note is there that a compacted context begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What rows depend on besides their event: the recipe, its policy, folds by result, images that
    this request withholds, by digest with the reason, the seq of the `latest` reply.
    """

    recipe: Recipe
    policy: Policy
    folds: Mapping[int, str]
    withheld: Mapping[str, str]
    latest: int = 0


def user(event: UserMessage, rules: Rules) -> Entry:
    """A message of the person."""
    if rules.policy.in_conversation:
        return make(event.seq, "user", tasks.task_row(event, rules.recipe))
    return make(event.seq, "user", tasks.bare_row(event.text))


def plan(event: GatePlan, rules: Rules) -> Entry:
    """A recorded plan."""
    return make(event.seq, "plan", tasks.plan_row(event, rules.recipe))


def note(event: Note) -> Entry:
    """A remark that is for the model, or a handover note."""
    kind: EntryKind = "handover" if event.why == HANDOVER else "note"
    return make(event.seq, kind, tasks.note_row(event))


def guidance(event: WindowLeadIn | BudgetWarning) -> Entry:
    """What a rolled-over window begins with, with all that it quotes; or that a window fills."""
    words = [event.text]
    if isinstance(event, WindowLeadIn):
        plan = event.plan and f"{tasks.PLAN_HEADER}\n\n{event.plan}"
        words += [quote for quote in (event.asked, plan) if quote]
    text = "\n\n".join(words)
    kind: EntryKind = "note" if isinstance(event, WindowLeadIn) else "warning"
    return make(event.seq, kind, tasks.bare_row(f"{tasks.NOTE_HEADER} {text}"))


def fresh(event: FreshContext) -> Entry:
    """A row of fresh context; its kind stays where a trim takes an outdated one out."""
    return make(event.seq, "fresh", UserRow((Text(event.text),)), label=event.kind)


def summary(event: SummaryAdd) -> Entry:
    """A summary in place of the span that it stands for."""
    row = AssistantRow((Text(f"{SUMMARY_HEADER}\n\n{event.text}"),))
    return make(event.seq, "summary", row)


def attachment(event: AttachImage, rules: Rules) -> Entry:
    """An image: the line that frames it as data, and the image by digest, or why it is withheld."""
    line = Text(event.line or f"{event.name}: an attached image")
    if not rules.policy.images:
        return make(event.seq, "attachment", UserRow((line,)))
    image = Image(event.sha256, event.mime, event.width, event.height)
    shown = withhold(image, rules.withheld)
    return make(
        event.seq,
        "attachment",
        UserRow((line, shown)),
        pixels=event.tokens if isinstance(shown, Image) else 0,
        label=f"image {event.name}, {event.width}x{event.height}",
    )


def withhold(image: Image, withheld: Mapping[str, str]) -> Image | Text:
    """The image, or a line that says why it is not sent."""
    reason = withheld.get(image.sha256)
    return image if reason is None else Text(f"[image not sent: {reason}]")


def reply(event: LlmResponse, rules: Rules, *, whole: bool) -> Entry | None:
    """A reply with what goes back of it: no blank text, no half-made calls; `None` if nothing is
    left.
    """
    cut_short = event.finish == "interrupted"

    def goes_back(part: ReplyPart) -> bool:
        match part:
            case Text():
                return bool(part.text.strip())
            case Thinking():
                return rules.policy.thinking and bool(part.text.strip())
            case Block():
                return rules.policy.blocks and not cut_short and _is_wanted(part, event, rules)
            case Call():
                return not cut_short

    parts = tuple(part for part in event.parts if goes_back(part))
    if not parts:
        return None
    if not any(isinstance(part, Text | Call) for part in parts):
        parts = (*parts, Text(NO_ANSWER))
    return make(event.seq, "assistant", AssistantRow(parts), whole=whole)


def _is_wanted(block: Block, event: LlmResponse, rules: Rules) -> bool:
    is_latest = event.seq == rules.latest
    return not rules.policy.kept_reasoning or blocks.wanted(block, rules.recipe, latest=is_latest)


def without_blocks(entry: Entry) -> Entry:
    """A reply without its opaque blocks; its thinking stays."""
    if not isinstance(entry.message, AssistantRow):
        return entry
    parts = tuple(part for part in entry.message.parts if not isinstance(part, Block))
    if len(parts) == len(entry.message.parts):
        return entry
    return remade(entry, AssistantRow(parts or (Text(NO_ANSWER),)))


def result(
    event: ToolResult, call: Call | None, batch: int | None, rules: Rules, *, whole: bool
) -> Entry:
    """A call's result: folded, or cut at the cap, with its images, which a fold stands for too.
    Before recipe 16 it knows neither its call nor the reply that made it.
    """
    fold = rules.folds.get(event.seq)
    state: EntryState = "in" if fold is None else "folded"
    said, cap = event.text if fold is None else fold, _cap(event, rules)
    if not cuts.fits(said, cap):
        said = cuts.cut(said, cap, _source(event, call if fold is None else None, rules))
        state = "cut" if fold is None else "folded"
    refs = event.images if rules.policy.images and fold is None else ()
    row = ToolRow(
        call.id if call else event.call_id,
        call.name if call else event.name,
        event.is_error,
        (
            Text(said if said.strip() else NO_OUTPUT),
            *(withhold(_image(ref), rules.withheld) for ref in refs),
        ),
    )
    pixels = sum(ref.tokens for ref in refs if ref.sha256 not in rules.withheld)
    return make(event.seq, "result", row, pixels=pixels, state=state, batch=batch, whole=whole)


def unanswered(call: Call, batch: int, text: str) -> Entry:
    """The result that a window shows for a call without one; it is no event's."""
    row = ToolRow(call.id, call.name, True, (Text(text),))
    return make(-batch, "result", row, batch=batch, whole=False)


def _image(ref: ImageRef) -> Image:
    return Image(ref.sha256, ref.mime, ref.width, ref.height)


def _is_read(event: ToolResult) -> bool:
    return event.name == READ_TOOL and not event.is_error


def _cap(event: ToolResult, rules: Rules) -> int:
    cap, policy = rules.recipe.window.max_result_tokens, rules.policy
    is_page = event.name == HISTORY_TOOL and policy.wide_history
    return 2 * cap if is_page or (_is_read(event) and policy.wide_reads) else cap


def _source(event: ToolResult, call: Call | None, rules: Rules) -> cuts.Source:
    path = _path_of(call) if call and _is_read(event) else None
    return cuts.Source(seq=event.seq, read_path=path, named=rules.policy.named_cuts)


def _path_of(call: Call) -> str | None:
    """The path a read was asked for; `None` where the arguments do not tell."""
    arguments = read_arguments(call.arguments)
    path = None if isinstance(arguments, Malformed) else arguments.get("path")
    return path if isinstance(path, str) else None
