"""What one run has come to: its requests, its replies, what it changed."""

from dataclasses import dataclass, field

from nodwyn_tui.agent.bodies import text_of
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.usage import Totals, Usage


@dataclass(slots=True)
class Run:
    """A run so far. `usages` are its replies' in order, `text` the last reply's that was no
    handover note; `failed` are the ids of calls whose result is an error; `changed_files` are paths
    in the workspace.
    """

    requests: int = 0
    usages: list[Usage] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    text: str = ""
    failed: set[str] = field(default_factory=set)
    changed_files: set[str] = field(default_factory=set)
    failure_told: bool = False
    """An entry of the transcript says why no request is made any more."""
    _note: int = 0
    """The latest request for a handover note."""

    def feed(self, event: ev.Event) -> None:
        """Takes an event of the run."""
        match event:
            case ev.LlmRequest():
                self.requests += 1
                self.failure_told = False
                self._note = event.seq if event.purpose == "handover" else self._note
            case ev.LlmResponse():
                self.usages.append(event.usage)
                self.totals = self.totals.plus(event.usage)
                self.text = self.text if event.req == self._note else text_of(event)
            case ev.LlmError():
                self.failure_told = event.retry_in_s is None
            case ev.BudgetBlocked():
                self.failure_told = True
            case ev.ToolResult():
                self.changed_files.update(event.changed or ())
                if event.is_error:
                    self.failed.add(event.call_id)
            case _:
                pass
