"""How a run ended, and what the front is told of it."""

from dataclasses import dataclass

from nodwyn_tui.agent import spend
from nodwyn_tui.agent.running import Run
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import ConfigError, NodwynError, ProviderError
from nodwyn_tui.link import events as up

EXIT_CODES: dict[ev.RunEndWhy, int] = {
    "done": 0,
    "interrupted": 130,
    "limit": 1,
    "error": 1,
    "blocked": 5,
}


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a run ended; `message` is for the person; `failure` is the error that ended it, `remedy`
    what to do where it was none.
    """

    why: ev.RunEndWhy
    message: str = ""
    failure: NodwynError | None = None
    remedy: str = ""

    @classmethod
    def of(cls, failure: NodwynError) -> "Ending":
        """The ending that an error makes."""
        return cls("blocked" if failure.exit_code == EXIT_CODES["blocked"] else "error",
                   str(failure), failure)  # fmt: skip


def report(run: Run, ending: Ending) -> up.RunEnded:
    """What the front is told of a run that is over."""
    failure = ending.failure
    return up.RunEnded(
        why=ending.why,
        text=run.text,
        requests=run.requests,
        usage=spend.summed(run.usages),
        message=ending.message,
        told=run.failure_told,
        kind=failure_kind(failure),
        remedy=failure.remedy if isinstance(failure, ProviderError) else ending.remedy,
        changed_files=tuple(sorted(run.changed_files)),
        exit_code=failure.exit_code if failure else EXIT_CODES[ending.why],
    )


def failure_kind(failure: NodwynError | None) -> str:
    """A failure's kind for `errors`: a provider's own word, else whose turn it is."""
    if failure is None:
        return ""
    if isinstance(failure, ProviderError):
        return failure.kind
    if isinstance(failure, ConfigError):
        return "config"
    return type(failure).__name__.removesuffix("Error").lower()
