"""What a reply tells of its prompt, for the person: that the server left something out of it, or
cut its front off (PRV-7).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from nodwyn_tui.agent.reasoning import REASONING, left_out
from nodwyn_tui.domain.deltas import Reply
from nodwyn_tui.domain.events import ModelRef
from nodwyn_tui.window.prefix import TEMPLATE, Prediction, leaves_thinking_out

CUT_BY_SERVER = (
    "{server} counted {counted:,} tokens of a prompt that has at least {whole:,}: it seems to have"
    " cut its front off, and the model may have forgotten the beginning. Set the model's context"
    " (num_ctx on Ollama) to what the server really holds. Ollama 0.30.0 alone counts only what it"
    " read anew; then nothing is amiss, and another release counts right."
)

THINKING_LEFT_OUT = (
    "{server} leaves the thinking of earlier runs out of what {model} reads: its chat template does"
    " so. From there on, the first request of each run is read anew; `nodwyn cache` calls that"
    " `template`."
)


@dataclass(frozen=True, slots=True)
class Remark:
    """A text, why it is there, and the matter that is told `once` a process ('' each time)."""

    text: str
    why: str
    once: str = ""


def remarks(made: Prediction, reply: Reply, asked: ModelRef) -> Iterator[Remark]:
    """What is to be said of the prompt of a reply, by what was predicted of it."""
    if reply.left_out:  # then the prompt is shorter for that reason, which is told
        for reason in reply.left_out:
            text = left_out(asked.server, reason)
            yield Remark(text, REASONING, once=text)
        return
    # An appended prompt that counts fewer tokens than the one before: earlier thinking left it by
    # the model's template, else the server cut it without a word.
    whole, counted = made.least, reply.usage.prompt_tokens
    if leaves_thinking_out(made, reply.usage):
        yield Remark(THINKING_LEFT_OUT.format(server=asked.server, model=asked.name), TEMPLATE)
    elif counted and counted < whole:
        text = CUT_BY_SERVER.format(server=asked.server, counted=counted, whole=whole)
        yield Remark(text, "cut", once=f"cut by {asked.origin}")
