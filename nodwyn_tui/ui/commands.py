"""The slash commands: their names, what each does, and what a typed line means. What they do is
done by the screen. A command that does not work yet is not here (TUI-8).
"""

from dataclasses import dataclass
from typing import Literal

Name = Literal[
    "help",
    "model",
    "setup",
    "pull",
    "mode",
    "settings",
    "keys",
    "memory",
    "skills",
    "clear",
    "compact",
    "fold",
    "drop",
    "restore",
    "rewind",
    "image",
    "new",
    "continue",
    "copy",
    "tour",
    "quit",
]


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """`argument` names what may follow the command; `needed` says that it must."""

    name: Name
    help: str
    argument: str = ""
    needed: bool = False


COMMANDS = (
    SlashCommand("help", "all keys and commands, and what the marks mean"),
    SlashCommand("model", "pick another model, or name it", "[NAME]"),
    SlashCommand("setup", "look for models here, or give a key for hosted ones"),
    SlashCommand("pull", "have Ollama fetch a model", "[NAME]"),
    SlashCommand("mode", "what may be done unasked: plan, ask, edits or auto", "MODE", needed=True),
    SlashCommand("settings", "models, servers, keys, limits, looks: all of config.toml"),
    SlashCommand("keys", "change what is bound to which key"),
    SlashCommand("memory", "what is remembered, and what the last request had of it", "[FILE]"),
    SlashCommand("skills", "take up a skill, or put one away that is in use", "[NAME]"),
    SlashCommand("continue", "go on after a stop, an error or a limit"),
    SlashCommand("clear", "a new window: nothing before it is sent again"),
    SlashCommand(
        "compact", "a new window from a note of the model's; undo brings it back", "[WISH]"
    ),
    SlashCommand("drop", "take an entry out of the window; its price is told first"),
    SlashCommand("fold", "have a line stand for a result in the window"),
    SlashCommand("restore", "bring an entry back into the window"),
    SlashCommand("rewind", "pick a message of yours; it and all behind it leave the window"),
    SlashCommand("image", "attach an image file; alone, the clipboard's image", "[PATH]"),
    SlashCommand("new", "end this session and begin another"),
    SlashCommand("copy", "copy the latest reply"),
    SlashCommand("tour", "open the tour: a scripted guide, no model needed"),
    SlashCommand("quit", "leave; the session can be resumed"),
)


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command with what was typed after it."""

    name: Name
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line that was meant as a command, but is none; `why` says what to do instead."""

    why: str


def offered(*, tour: bool) -> tuple[SlashCommand, ...]:
    """The commands there are; the tour's only where it is offered."""
    return tuple(command for command in COMMANDS if tour or command.name != "tour")


def starting_with(text: str, *, tour: bool) -> tuple[SlashCommand, ...]:
    """The commands that a line which is being typed may become, the one it is first."""
    if not text.startswith("/") or any(blank in text for blank in " \n\t"):
        return ()
    typed = text[1:].lower()
    found = [command for command in offered(tour=tour) if command.name.startswith(typed)]
    return tuple(sorted(found, key=lambda command: command.name != typed))


def read(text: str, *, tour: bool) -> Invocation | Unknown | None:
    """What a sent line means; `None` if it is a message. A path is one: `/etc/hosts` has a second
    slash.
    """
    first, _, argument = text.strip().partition(" ")
    if not first.startswith("/") or "\n" in text.strip() or "/" in first[1:] or first == "/":
        return None
    name, argument = first[1:].lower(), argument.strip()
    for command in offered(tour=tour):
        if command.name != name:
            continue
        if command.needed and not argument:
            return Unknown(f"/{name} needs {command.argument}: {command.help}")
        if argument and not command.argument:
            return Unknown(f"/{name} stands alone; nothing may follow it")
        return Invocation(command.name, argument)
    return Unknown(f"there is no command {first}; /help lists them all")
