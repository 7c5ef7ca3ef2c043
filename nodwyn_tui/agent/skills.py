"""The skills of one session: which are in use, taken up by the model or the person, and what they
say now (ORD-10). In use are those that the log says so of since the last reset (ROL-8), so a
resumed session goes on with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodwyn_tui.agent.conversation import Conversation, Emit
from nodwyn_tui.agent.skill_words import NOTE, Broken, bodies
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.words import Keeper
from nodwyn_tui.errors import StoreError, ToolError, UsageError
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.store.skills import LONGEST_NAME, Skill, Skills, one_line
from nodwyn_tui.window.entries import BYTES_PER_TOKEN
from nodwyn_tui.window.order import Placement, placed

MOST = 8
"""Skills in use at once."""
MOST_TOKENS = 2_000
"""Of what a call gives where no row of fresh context shows the skill."""
SHOWN_PROBLEMS = 20

FROM_NEXT = "{name} is in use, from the next request on"
FROM_MESSAGE = "{name} is in use, from your next message on"
AS_NOTE = "{name} is in use: its text went into the conversation, since fresh context is off here"
GONE = "the skill {name} is in use, but {why}; /skills {name} puts it away"
TOO_MANY = (
    "{name} can't be taken up: {count} skills are in use, as many as there can be; /skills, which"
    " is the person's, puts one away"
)


@dataclass(frozen=True, slots=True)
class Told:
    """What the skills in use say, `own` if all are the person's."""

    texts: Sequence[str]
    own: bool


class SessionSkills:
    """Fills the tools' port, tells fresh context what to show, and does what the person picks."""

    def __init__(self, conversation: Conversation, library: Skills, emit: Emit) -> None:
        self._conversation, self._library, self._emit = conversation, library, emit
        self.problems: Sequence[str] = ()
        """What was wrong with skills as a new session began."""

    @property
    def in_use(self) -> Mapping[str, str]:
        """The digests of the skills in use as they were taken up, by name, the latest last. No log,
        whoever wrote it, has more of them in use than can be.
        """
        return dict([*self._conversation.ledger.facts.skills.items()][-MOST:])

    def told(self, room: int) -> Told:
        """What those in use say, in `room` tokens. One whose file is gone says so, and the person
        is told once.
        """
        now = [self._now(name) for name in self.in_use]
        own = all(isinstance(each, Skill) and each.keeper == "person" for each in now)
        return Told(bodies(now, room * BYTES_PER_TOKEN), own)

    def use(self, name: str) -> str:
        """Takes a skill up for the model; what it is told. Where no row of fresh context will show
        the text, that goes with it.
        """
        try:
            skill = self._library.find(name)
        except StoreError as error:
            raise ToolError(f"skill: {error}") from error
        if skill is None:
            raise ToolError(f"skill: there is none called {name!r}; <skills> lists their names")
        again = name in self.in_use
        if not again:
            if len(self.in_use) >= MOST:
                raise ToolError(
                    f"skill: {TOO_MANY.format(name=name, count=MOST)}; fs-read {skill.file}"
                )
            self._record(skill)
        state = f"{name} is in use{' already' if again else ''}"
        if self._is_shown(name):
            return f'{state}: what it says stands under "skills in use"'
        return f"{state}. It says:\n{self._text(skill)}"

    def tell_problems(self) -> None:
        """Tells the person which skills a new session begins without, and why."""
        if not self.problems:
            return
        first, *others = self.problems
        more = f" ({len(others):,} more like it)" if others else ""
        text, detail = f"skills: {first}{more}", "\n".join(shortened(self.problems))
        self._emit(up.Notice(level="warning", text=text, detail=detail))

    def do(self, command: commands.ListSkills | commands.PickSkill) -> None:
        """Tells the person which there are, or does what they picked. Raises `UsageError`."""
        if isinstance(command, commands.ListSkills):
            self._emit(self._listed())
        elif command.name in self.in_use:
            self._drop(command.name)
        else:
            self._pick(command.name)

    def _listed(self) -> up.SkillsListed:
        found = self._library.all()
        skills = {skill.name: skill for skill in found.skills}
        told = [self._fact(skill) for skill in skills.values()]
        for name in self.in_use.keys() - skills.keys():
            match self._now(name):
                case Skill() as skill:
                    told.append(self._fact(skill))
                case Broken(why=why):
                    told.append(_fact(name, why, "workspace", in_use=True))
        return up.SkillsListed(
            skills=tuple(told),
            problems=shortened(found.problems),
            places=self._library.places,
        )

    def _fact(self, skill: Skill) -> up.SkillFacts:
        about = skill.content.description
        return _fact(skill.name, about, skill.keeper, in_use=skill.name in self.in_use)

    def _pick(self, name: str) -> None:
        try:
            skill = self._library.find(name)
        except StoreError as error:
            raise UsageError(str(error)) from error
        if skill is None:
            raise UsageError(f"there is no skill {name!r}; /skills lists them")
        if len(self.in_use) >= MOST:
            raise UsageError(TOO_MANY.format(name=name, count=MOST))
        self._record(skill)
        match self._placement:
            case "each_request" | "on_change":
                said = FROM_NEXT
            case "run_start":
                said = FROM_MESSAGE
            case "off":
                said = AS_NOTE
                self._note(f"the person takes up the skill {name}.\n{self._text(skill)}")
        self._tell(said.format(name=name))

    def _drop(self, name: str) -> None:
        self._conversation.append(ev.SkillUse(name=name, digest=""))
        if self._placement == "off":
            self._note(f"the person has put the skill {name} away; go on without it")
        self._tell(f"{name} is no longer in use")

    def _record(self, skill: Skill) -> None:
        self._conversation.append(ev.SkillUse(name=skill.name, digest=skill.content.digest))

    def _note(self, text: str) -> None:
        self._conversation.append(ev.Note(text=text, audience="model", why=NOTE))

    def _tell(self, text: str) -> None:
        self._emit(up.Notice(level="info", text=text))

    def _now(self, name: str) -> Skill | Broken:
        """A skill in use as its file is now."""
        try:
            found = self._library.find(name)
        except StoreError as error:
            why = str(error)
        else:
            if found is not None:
                return found
            why = "its file is gone"
        name = one_line(name)[:LONGEST_NAME]
        text = GONE.format(name=name, why=why)
        if text not in self._conversation.told:
            self._conversation.told.add(text)
            self._conversation.append(ev.Note(text=text, audience="person", why="skills"))
        return Broken(name, why)

    def _text(self, skill: Skill) -> str:
        """What one skill says, in what a result may have."""
        recipe = self._conversation.recipe
        cap = recipe.class_caps.get("skills", MOST_TOKENS)
        room = min(MOST_TOKENS, cap, recipe.window.max_result_tokens * 3 // 4)
        return bodies([skill], room * BYTES_PER_TOKEN)[0]

    @property
    def _placement(self) -> Placement:
        return placed(self._conversation.recipe.fresh)

    def _is_shown(self, name: str) -> bool:
        """Whether a row of fresh context shows it to the model in the next request."""
        if self._placement in ("each_request", "on_change"):
            return True
        known = self._conversation.freshness.known.values()
        rows = [row.text for row in known if row.kind == "skills"]
        return bool(rows) and f'<skill name="{name}"' in rows[-1]


def shortened(problems: Sequence[str]) -> tuple[str, ...]:
    """What is wrong with skills, and no more of it than can be read."""
    more = len(problems) - SHOWN_PROBLEMS
    told = (f"and {more:,} more",) if more > 0 else ()
    return (*problems[:SHOWN_PROBLEMS], *told)


def _fact(name: str, about: str, keeper: Keeper, *, in_use: bool) -> up.SkillFacts:
    return up.SkillFacts(name=name, description=about, keeper=keeper, in_use=in_use)
