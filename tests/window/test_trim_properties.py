"""What a trim may and may not do, in every generated session (REL-4)."""

from hypothesis import given

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.recipe import WindowLimits
from nodwyn_tui.window import elision
from nodwyn_tui.window.build import Shape, Window, build
from nodwyn_tui.window.contexts import place
from tests.generated import (
    EACH_REQUEST,
    PAIRED,
    STEPS,
    VERSIONS,
    Session,
    Step,
    bare,
    played,
    protected,
)

ENDLESS = 2**62
"""A trim line that no window crosses."""


def recipe_at(session: Session, request: ev.LlmRequest) -> ev.RecipeEvent:
    before = session.events[: request.seq - 1]
    return next(event for event in reversed(before) if isinstance(event, ev.RecipeEvent))


def untrimmed(session: Session, request: ev.LlmRequest) -> Window:
    """The window of a request as if no line had been set to it."""
    withheld = {image.sha256: image.reason for image in request.withheld_images}
    return build(
        session.events[: request.seq - 1],
        recipe_at(session, request).recipe,
        Shape(
            no_tools=request.no_tools, high_water=ENDLESS, withheld=withheld, fresh=request.fresh
        ),
    )


@EACH_REQUEST
@given(STEPS, VERSIONS)
def test_the_persons_words_and_plans_are_never_trimmed(steps: list[Step], version: int) -> None:
    """ENG-14, ENG-19: they leave only if the person drops them."""
    session = played(steps, version)
    for request, window in session.windows:
        edits = [e for e in session.events[: request.seq] if isinstance(e, ev.WindowEdit)]
        dropped = {e.target for e in edits if e.action == "drop"}
        for entry in window.entries:
            if entry.kind in ("user", "plan", "note") and entry.seq not in dropped:
                assert entry.state == "in"
        kinds = {entry.kind for entry in window.entries if entry.seq in window.newly}
        assert kinds <= {"result", "fresh", "attachment", "assistant", "summary"}


@EACH_REQUEST
@given(STEPS, PAIRED)
def test_nothing_is_trimmed_below_the_line(steps: list[Step], version: int) -> None:
    """ENG-14: a window at high water is left alone."""
    session = played(steps, version)
    for request, window in session.windows:
        bearer = recipe_at(session, request)
        line = request.high_water or bearer.recipe.window.high_water
        if window.newly:
            whole = untrimmed(session, request)
            assert whole.estimate > line or whole.newly == window.newly


def by_the_book(whole: Window, limits: WindowLimits, line: int) -> set[int]:
    """What a trim of the window `whole` takes out, said once more and as plainly as can be."""
    left = {entry.seq: entry.tokens for entry in whole.entries}
    safe = protected(whole, limits.protected)
    out: set[int] = set()
    goal = min(limits.low_water, line)
    for kinds in (("result", "fresh"), ("attachment",), ("assistant", "summary")):
        for entry in whole.entries:
            if whole.fixed + sum(left.values()) <= goal:
                return out
            if entry.kind not in kinds or entry.seq in safe or not entry.whole:
                continue
            results = [e.seq for e in whole.entries if e.batch == entry.seq and e.seq in left]
            stubbed = elision.stub(entry).tokens
            gained = left[entry.seq] - stubbed + sum(left[seq] for seq in results)
            if entry.state != "elided" and gained > 0:
                left[entry.seq] = stubbed
                out |= {entry.seq, *results}
                for seq in results:
                    del left[seq]
    return out


@EACH_REQUEST
@given(STEPS, PAIRED)
def test_oldest_results_go_first_and_no_more_than_needed(steps: list[Step], version: int) -> None:
    """ENG-14, ENG-16: then attachments, then replies with all their results."""
    session = played(steps, version)
    for request, window in session.windows:
        whole, recipe = untrimmed(session, request), recipe_at(session, request).recipe
        line = request.high_water or recipe.window.high_water
        out = by_the_book(whole, recipe.window, line) if whole.estimate > line else set()
        assert set(window.newly) == set(whole.newly) | (out - whole.elided - window.dropped)


@EACH_REQUEST
@given(STEPS, PAIRED)
def test_each_request_records_what_it_newly_elides(steps: list[Step], version: int) -> None:
    """ENG-15: the elided set is the union of what requests recorded since the window's start."""
    session = played(steps, version)
    for request, window in session.windows:
        before = session.events[: request.seq - 1]
        since = place(before).since
        later = [event for event in before if event.seq >= since]
        if any(isinstance(e, ev.SummaryAdd | ev.SummaryRevoke | ev.WindowRewind) for e in later):
            continue
        restored = {e.target for e in later if isinstance(e, ev.WindowEdit)}
        recorded = {
            seq
            for e in later
            if isinstance(e, ev.LlmRequest) and e.ctx == request.ctx
            for seq in e.elided
        }
        assert set(request.elided) == set(window.newly)
        assert window.elided <= recorded | set(window.newly)
        if not restored:
            assert window.elided == recorded | set(window.newly)
            assert not recorded & set(window.newly)


@EACH_REQUEST
@given(STEPS, VERSIONS)
def test_nothing_is_ever_reordered(steps: list[Step], version: int) -> None:
    """ENG-15: what two requests both show, both show in the same order, but for a resume from a
    recipe in which results stood where they were recorded.
    """
    session = played(steps, version)
    for (first, was), (second, now) in zip(session.windows, session.windows[1:], strict=False):
        if recipe_at(session, first).recipe.version != recipe_at(session, second).recipe.version:
            continue
        old, new = ([entry.seq for entry in bare(window).entries] for window in (was, now))
        both = set(old) & set(new)
        assert [seq for seq in old if seq in both] == [seq for seq in new if seq in both]


@EACH_REQUEST
@given(STEPS, VERSIONS)
def test_a_stub_stands_for_what_was_there(steps: list[Step], version: int) -> None:
    """ENG-15, ENG-16: in its place and its role; results gone with their reply stand nowhere."""
    session = played(steps, version)
    for request, window in session.windows:
        shown = {entry.seq: entry for entry in untrimmed(session, request).entries}
        for entry in window.entries:
            other = shown[entry.seq]
            assert (entry.kind, entry.message.role) == (other.kind, other.message.role)
