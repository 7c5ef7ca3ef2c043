"""Folds that a session makes by itself, before a request is recorded (ENG-21): which results went
stale is followed along, and whether a fold pays is weighed against what the cache should hold.
"""

import math
from dataclasses import replace
from datetime import datetime

from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.price import Rates
from nodwyn_tui.window.build import ENDLESS, Shape, Window
from nodwyn_tui.window.prompts import HEAD
from nodwyn_tui.window.weighing import Moment, due

UNKNOWN_RATIO = 10.0
"""What a token that is read anew costs over a cached one where nobody tells."""


def folded(
    conversation: Conversation, target: Target, shape: Shape, window: Window, now: datetime
) -> tuple[Shape, Window]:
    """The request with the folds that are due, which are recorded: what it was to be where there
    are none. `StoreError` where the disk refuses them.

    Folds come before a trim, and take room that it need not make. It goes down to low water all the
    same, by a line of its own: a window that folds alone bring below high water would cross it
    again at once, and lose its prefix each time.
    """
    if not target.folds or not conversation.stale.folds():
        return shape, window
    whole = conversation.window(replace(shape, high_water=ENDLESS)) if window.newly else window
    prediction, _ = conversation.forecast.predict(window, target, shape, now)
    moment = Moment(
        held=max(prediction.pieces - HEAD, 0),
        requests=conversation.ledger.facts.requests_a_run,
        ratio=ratio(target),
        protected=conversation.recipe.window.protected,
    )
    made = due(conversation.stale, whole, moment)
    if not made:
        return shape, window
    drafts = (ev.ResultFold(target=fold.target, text=fold.text, why=fold.why) for fold in made)
    conversation.append(*drafts, must=True)
    if window.newly:
        low = conversation.recipe.window.low_water
        line = low if shape.high_water is None else min(low, shape.high_water)
        shape = replace(shape, high_water=line)
    return shape, conversation.window(shape)


def ratio(target: Target) -> float:
    """The price of a prompt token that is read anew over one that is read from the cache. A server
    that nobody pays by the token reads cached ones in no time.
    """
    rates = target.price.rates if target.price else Rates()
    if rates.cached is None or rates.input is None:
        return math.inf if target.is_local else UNKNOWN_RATIO
    anew = max(rates.input, rates.write or 0.0)
    return anew / rates.cached if rates.cached else math.inf
