"""A session put together from its parts: a new one, or one whose log was opened."""

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypedDict

from nodwyn_tui import __version__
from nodwyn_tui.agent.approvals import Rules
from nodwyn_tui.agent.attachments import MakePicture, Studio
from nodwyn_tui.agent.changes import Changes
from nodwyn_tui.agent.conversation import Conversation, Emit
from nodwyn_tui.agent.counting import Counting
from nodwyn_tui.agent.fresh import Fresh
from nodwyn_tui.agent.gate import Gate
from nodwyn_tui.agent.instructing import Instructing
from nodwyn_tui.agent.instructions import with_instructions
from nodwyn_tui.agent.ledger import Ledger, Ledgers, ledger_of
from nodwyn_tui.agent.limits import limits_of
from nodwyn_tui.agent.parts import Parts
from nodwyn_tui.agent.prompt import SYSTEM, WITHOUT_TOOLS
from nodwyn_tui.agent.recipes import changed, new_recipe, remarks, resumed_recipe
from nodwyn_tui.agent.remembered import Remembered
from nodwyn_tui.agent.rollover import Rollover
from nodwyn_tui.agent.runtime import Runtime
from nodwyn_tui.agent.session import Session
from nodwyn_tui.agent.skill_words import with_skills
from nodwyn_tui.agent.skills import SessionSkills
from nodwyn_tui.agent.switching import Fallback
from nodwyn_tui.agent.target import Target
from nodwyn_tui.agent.toolbox import Toolbox, WorkspaceFiles
from nodwyn_tui.config.files import Loaded
from nodwyn_tui.config.saving import add_allow_pattern
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.errors import ConfigError, ReplayError, StoreError
from nodwyn_tui.link import commands
from nodwyn_tui.store import places
from nodwyn_tui.store.artifacts import ArtifactFiles
from nodwyn_tui.store.draft import Draft
from nodwyn_tui.store.history_key import history_key
from nodwyn_tui.store.images import ImageFiles
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.memory import Memory
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.store.skills import Found, Read, Skills
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.tools.base import Tool
from nodwyn_tui.window.policy import policy_for

PROMPT_LOST = (
    "The start of this session's log is lost to damage, and with it the system prompt and the tools"
    " that its requests had. It goes on with today's; the first request reads the prompt anew."
)


class About(TypedDict):
    """What every recipe event says of its session."""

    session: str
    workspace: str
    app: str


class MakeTools(Protocol):
    """Makes the tools of a session, with `skill` for one that has any."""

    def __call__(
        self, environment: Mapping[str, str], *, skills: bool = False
    ) -> Sequence[Tool[Any]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """What wiring picked for the worker: how tools are made for a session, how a shell command is
    judged by its parts, what the folders are, and what is known to be secret.
    """

    state: Path
    cache: Path
    clock: Clock
    redactor: Redactor
    make_tools: MakeTools
    shell_allows: Callable[[Sequence[str], str], bool]
    child_environment: Callable[[], Mapping[str, str]]
    make_picture: MakePicture
    counting: Counting
    read_skill: Read


class Assembly:
    """Puts a session together from a command, the settings and a target."""

    def __init__(
        self,
        rooms: Rooms,
        loaded: Loaded,
        find_fallback: Callable[[str], Awaitable[Target | None]],
        emit: Emit,
    ) -> None:
        self._rooms, self._loaded, self._emit = rooms, loaded, emit
        self._find_fallback = find_fallback

    def new(self, command: commands.Open, folder: Path, target: Target) -> Session:
        """A new session in `folder`. `BlockedError` where the model's context is too small,
        `StoreError` where the disk refuses.
        """
        found = self._library(command).all()
        tools = self._tools(bool(found.skills))
        recipe = self._new_recipe(command, target, tools, found)
        log = Log.create(folder, self._rooms.clock, self._rooms.redactor, Ledgers())
        conversation = Conversation(log, (), Ledger(), self._emit, want_log=command.want_log)
        conversation.append(
            ev.SessionStart(**self._about(command, folder), recipe=recipe),
            *remarks(target, recipe),
            must=True,
        )
        session = self._session(command, target, conversation, tools, created=True)
        session.skills.problems = found.problems
        return session

    def resumed(
        self, command: commands.Open, log: Log, events: Sequence[ev.Event], target: Target
    ) -> Session:
        """A session whose log was opened: it keeps its prompt, catalogue and headers (ENG-11).
        `events` are those that its window needs.
        """
        ledger = ledger_of(log.archive).copy()  # the log's index goes on with its own
        conversation = Conversation(log, events, ledger, self._emit, want_log=command.want_log)
        began = conversation.began
        offers = began is not None and "skill" in {tool.name for tool in began.recipe.tools}
        tools = self._tools(offers)
        last = conversation.recipe if conversation.began else None
        recipe = self._resumed(command, conversation, target, tools)
        told = remarks(target, recipe)
        if last is not None and not told and command.strategy is None:
            told = changed(last, recipe)
        about = self._about(command, log.path.parent)
        resume = ev.SessionResume(**about, recipe=recipe)
        conversation.append(resume, *told, must=True)
        target = target.holding(recipe.num_ctx) if recipe.num_ctx != target.context else target
        session = self._session(command, target, conversation, tools, created=False)
        session.repair()
        return session

    def _resumed(
        self,
        command: commands.Open,
        conversation: Conversation,
        target: Target,
        tools: Sequence[Tool[Any]],
    ) -> Recipe:
        if conversation.began is None:
            conversation.append(ev.Note(text=PROMPT_LOST, audience="person", why="damage"))
            return self._new_recipe(command, target, tools, Found())
        _refuse_unknown(conversation.recipe)
        same = conversation.ledger.facts.last_origin == target.ref.origin
        return resumed_recipe(conversation.recipe, target, same_model=same)

    def _new_recipe(
        self, command: commands.Open, target: Target, tools: Sequence[Tool[Any]], found: Found
    ) -> Recipe:
        if not target.tools:
            return new_recipe(target, WITHOUT_TOOLS, (), self._loaded.settings.window)
        system = with_instructions(
            SYSTEM, self._loaded.file.parent, Path(command.workspace), target.context
        )
        system = with_skills(system, found.skills, target.context)
        return new_recipe(target, system, tools, self._loaded.settings.window)

    def _library(self, command: commands.Open) -> Skills:
        own = self._loaded.file.parent / "skills"
        return Skills(Path(command.workspace), own, self._rooms.read_skill)

    def _tools(self, skills: bool) -> Sequence[Tool[Any]]:
        return self._rooms.make_tools(self._rooms.child_environment(), skills=skills)

    def _about(self, command: commands.Open, folder: Path) -> "About":
        return {"session": folder.name, "workspace": command.workspace, "app": __version__}

    def _session(
        self,
        command: commands.Open,
        target: Target,
        conversation: Conversation,
        tools: Sequence[Tool[Any]],
        *,
        created: bool,
    ) -> Session:
        rules = Rules(
            self._rooms.shell_allows, (*self._loaded.settings.approvals.allow, *command.allow)
        )
        gate = Gate(conversation, rules, self._emit, self._save_always, headless=command.headless)
        gate.mode = self._mode(command)
        files = WorkspaceFiles(
            Path(command.workspace), [Path(path) for path in command.add_dirs], conversation
        )
        folder = conversation.log.path.parent
        artifacts = ArtifactFiles(folder, self._rooms.redactor)
        memory = Memory(
            places.memory_folder(Path(command.workspace)),
            self._loaded.file.parent / "memory",
            self._rooms.redactor,
        )
        skills = SessionSkills(conversation, self._library(command), self._emit)
        key = functools.partial(history_key, self._rooms.state, folder.name)
        workspace, clock = Path(command.workspace), self._rooms.clock
        instructing = Instructing(conversation, files, self._loaded.file.parent, Path.home())
        changes = Changes(workspace, self._rooms.child_environment, clock)
        runtime = Runtime(workspace, clock, lambda: gate.mode, changes)
        fresh = Fresh(conversation, memory, runtime, skills)
        if conversation.recipe.fresh != "off":
            changes.look()
        return Session(
            Parts(
                conversation=conversation,
                target=target,
                toolbox=Toolbox(
                    tools,
                    conversation,
                    files,
                    artifacts,
                    Remembered(memory, self._rooms.clock),
                    skills,
                    key,
                ),
                gate=gate,
                fresh=fresh,
                rollover=Rollover(conversation, fresh, memory, instructing, lambda: gate.mode),
                skills=skills,
                instructing=instructing,
                memory=memory,
                changes=changes,
                draft=None if command.headless else self._draft(command),
                clock=self._rooms.clock,
                state=self._rooms.state,
                studio=self._studio(command, folder),
                counting=self._rooms.counting,
                created=created,
                fallback=Fallback(functools.partial(self._find_fallback, folder.name)),
                limits_by=functools.partial(limits_of, command),
                also_allowed=command.allow,
                limits=limits_of(command, self._loaded.settings.limits),
                unsandboxed_auto=command.no_sandbox,
            ),
            self._emit,
        )

    def _studio(self, command: commands.Open, folder: Path) -> Studio:
        return Studio(
            files=ImageFiles(folder),
            make=self._rooms.make_picture,
            workspace=Path(command.workspace),
            home=Path.home(),
            environment=self._rooms.child_environment,
        )

    def _draft(self, command: commands.Open) -> Draft:
        return Draft(Path(command.workspace), self._rooms.state, self._rooms.redactor)

    def _mode(self, command: commands.Open) -> ev.Mode:
        """The command line's mode, else the settings'. Never the log's: a repository may bring a
        log along, and what is allowed is the person's alone (SEC-4).
        """
        mode = "auto" if command.yes else command.mode or self._loaded.settings.mode
        return "ask" if mode == "auto" and not command.no_sandbox else mode

    def _save_always(self, pattern: str) -> None:
        if self._rooms.redactor.text(pattern) != pattern:
            raise ConfigError(
                "the call holds what looks like a key, and none may stand in config.toml; allow it"
                " once, or for this session"
            )
        add_allow_pattern(self._loaded.file, pattern)


def _refuse_unknown(recipe: Recipe) -> None:
    """Raises `StoreError` for a session whose windows nobody here can tell (ENG-9): another build's
    may hold what this one would leave out.
    """
    try:
        policy_for(recipe.version)
    except ReplayError as error:
        raise StoreError(
            f"this session can't be gone on with, only read: {error}. A newer Nodwyn may know it"
        ) from error
