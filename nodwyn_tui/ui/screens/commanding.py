"""What slash commands and the lists behind them do: most go down the link as they are."""

from pathlib import Path
from typing import cast, get_args

from nodwyn_tui.domain.words import MemoryFile, Mode
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.events import Notice
from nodwyn_tui.ui import commands as slash
from nodwyn_tui.ui.messages import Outcome
from nodwyn_tui.ui.screens.configuring import Configuring
from nodwyn_tui.ui.screens.models import Models
from nodwyn_tui.ui.screens.outside import edited
from nodwyn_tui.ui.screens.picker import Picker
from nodwyn_tui.ui.screens.sheet import Sheet
from nodwyn_tui.ui.widgets.completing import Completion
from nodwyn_tui.ui.widgets.lines import Line, Span, expand_tabs, wrap
from nodwyn_tui.ui.widgets.mentions import mention
from nodwyn_tui.ui.widgets.pick_list import Choice
from nodwyn_tui.ui.widgets.visible import visible

CLOSE_S = 3.0
"""What the worker gets to close the session before the screen leaves without it."""

MEMORY: dict[str, tuple[MemoryFile, ...]] = {
    "": get_args(MemoryFile),
    "facts": ("facts",),
    "corrections": ("corrections",),
    "notes": ("context-notes",),
}
"""What may follow `/memory`."""

_PLAIN: dict[str, commands.Command] = {
    "continue": commands.Continue(),
    "clear": commands.ClearWindow(),
    "new": commands.NewSession(),
}


class Commanding(Configuring):
    """Carries out commands, however they were given."""

    editor = ""
    """The command of the person's text editor."""

    @property
    def tour_offered(self) -> bool:
        """Where no model was found."""
        opened = self.header.opened
        return opened is not None and not (opened.model or opened.tour or opened.read_only)

    def complete(self, text: str, head: str) -> list[Completion]:
        """The commands that a line which is being typed may become, the files of its path, or those
        that a mention at the end of `head`, the text up to the cursor, may name.
        """
        if (letters := mention(head)) is not None:
            return self.mentions.completions(letters)
        self.mentions.forget()
        if paths := self.complete_path(text):
            return paths
        return [
            Completion(f"/{command.name}", command.help, more=command.needed)
            for command in slash.starting_with(text, tour=self.tour_offered)
        ]

    def invoke(self, invocation: slash.Invocation) -> None:
        """Do what a command says."""
        match invocation.name:
            case "model" | "setup" | "pull":
                self._another_model(invocation)
            case "mode":
                self._set_mode(invocation.argument)
            case "continue" | "clear" | "new":
                self._go_on(_PLAIN[invocation.name])
            case "compact":
                self.notices.clear()
                self.compact(invocation.argument)
            case "fold" | "drop" | "restore" | "rewind":
                self.edit(invocation.name)
            case "image":
                self.prompt.ask(invocation.argument, sure=True)
            case "settings" | "keys" | "memory" | "skills" | "help" | "tour":
                self._open(invocation)
            case "copy":
                self._copy_reply()
            case "quit":
                self.leave()

    def _open(self, asked: slash.Invocation) -> None:
        match asked.name:
            case "settings":
                self.action_settings()
            case "keys":
                self.action_settings("keys")
            case "memory":
                self._show_memory(asked.argument)
            case "skills" if asked.argument:
                self.skill_picked(asked.argument)
            case "skills":
                self.bridge.send(commands.ListSkills())
            case "help":
                self.action_help()
            case "tour":
                self.action_tour()

    def _go_on(self, command: commands.Command) -> None:
        """What was remarked is over. Another session takes the draft over as it stands, not as it
        was told last.
        """
        self.notices.clear()
        if isinstance(command, commands.NewSession | commands.StartTour):
            self.save_draft()
        self.bridge.send(command)

    def copy(self, text: str) -> None:
        """To the clipboard, by the terminal (OSC 52)."""
        self.app.copy_to_clipboard(text)
        lines = text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        self.tell("info", f"copied {size}, if the terminal takes copies from programs")

    def leave(self) -> None:
        """Save the draft, close the session, and go; without the worker if it does not answer."""
        if self.leaving:
            return
        self.leaving = True
        if self.bridge.lost:
            self.app.exit(Outcome(exit_code=1))
            return
        self.save_draft()
        self.bridge.send(commands.Close())
        self.tell("info", "closes the session…")
        self.set_timer(CLOSE_S, lambda: self.app.exit(Outcome(exit_code=1)))

    def show_detail(self, notice: Notice) -> None:
        """All of a remark."""
        detail = "" if notice.detail in notice.text else f"\n\n{notice.detail}"
        text = expand_tabs(visible(notice.text + detail))

        def layout(width: int) -> list[Line]:
            return [Line(row) for part in text.split("\n") for row in wrap([Span(part)], width)]

        self.app.push_screen(Sheet("More about it", layout))

    def action_help(self) -> None:
        """All keys and commands."""

    def begin_tour(self) -> None:
        """Open the tour."""
        self.action_tour()

    def action_tour(self) -> None:
        """Open the tour, where it is offered."""
        if self.tour_offered:
            self._go_on(commands.StartTour())

    def action_palette(self) -> None:
        """All commands, to pick from."""
        choices = [
            Choice(command.name, f"/{command.name} {command.argument}".strip(), command.help)
            for command in slash.offered(tour=self.tour_offered)
        ]
        self.app.push_screen(Picker("Commands", choices), self._picked_command)

    def _picked_command(self, name: str | None) -> None:
        for command in slash.offered(tour=self.tour_offered):
            if command.name == name and command.needed:
                self.prompt.set_text(f"/{name} ")
                self.prompt.focus()
            elif command.name == name:
                self.invoke(slash.Invocation(command.name))

    def _another_model(self, asked: slash.Invocation) -> None:
        if asked.name == "pull":
            self.pull(asked.argument)
        elif asked.name == "model" and asked.argument:
            self._picked_model(asked.argument)
        elif asked.name == "setup" or self.tour_offered:
            self.set_up()
        else:
            self._pick_model()

    def _pick_model(self) -> None:
        self.models = Models()
        self.app.push_screen(self.models, self._picked_model)
        self.bridge.send(commands.ListModels())

    def _picked_model(self, name: str | None) -> None:
        self.models = None
        if name:
            self.bridge.send(commands.SwitchModel(model=name))

    def _set_mode(self, name: str) -> None:
        if name in get_args(Mode):
            self.bridge.send(commands.SetMode(mode=cast("Mode", name)))
        else:
            self.tell("warning", f"there is no mode {name}; there are {', '.join(get_args(Mode))}")

    def _show_memory(self, name: str) -> None:
        if files := MEMORY.get(name.lower()):
            self.bridge.send(commands.ShowMemory(files=files))
        else:
            known = ", ".join(filter(None, MEMORY))
            self.tell("warning", f"there is no memory {name}; there are {known}")

    def edit_memory(self, text: up.MemoryText) -> None:
        """A file of memory in the person's editor, then what memory holds."""
        if problem := edited(self.app, self.editor, Path(text.path)):
            self.tell("error", problem)
        self.bridge.send(commands.ShowMemory(files=MEMORY[""]))

    def skill_picked(self, name: str | None) -> None:
        """Take a skill up, or put it away."""
        if name:
            self.bridge.send(commands.PickSkill(name=name))

    def _copy_reply(self) -> None:
        story = self.transcript.story
        for entry in reversed(story.entries):
            if entry.kind == "assistant" and (body := story.body(entry)):
                self.copy(body.text)
                return
        self.tell("warning", "there is no reply to copy yet")
