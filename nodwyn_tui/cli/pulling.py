"""`nodwyn models pull`: has Ollama fetch a model, and tells on standard error how far it is."""

from contextlib import aclosing

from nodwyn_tui.agent.first_run import pulled
from nodwyn_tui.agent.opening import Household
from nodwyn_tui.cli import output
from nodwyn_tui.domain.progress import Pace, figures
from nodwyn_tui.providers.pulling import Pulled

EACH_S = 2.0
"""How often at most a line is told of bytes that come."""


async def pull(home: Household, server: str, model: str) -> None:
    """Fetches the model; raises what keeps it from coming. Ctrl+C stops; it can be gone on with."""
    pace, told, status = Pace(), float("-inf"), ""
    async with aclosing(pulled(home.models, server, model)) as steps:
        async for step in steps:
            now = home.rooms.clock.monotonic()
            if step.all_bytes:
                pace.see(step.done_bytes, now)
            if step.status != status or now - told >= EACH_S:
                told, status = now, step.status
                output.tell(_line(step, pace.bytes_a_second))
    output.tell(f"{model} is there: `nodwyn --model {server}/{model}` asks it")


def _line(step: Pulled, pace: float) -> str:
    if not step.all_bytes:
        return step.status
    return f"{step.status}: {' · '.join(figures(step.done_bytes, step.all_bytes, pace))}"
