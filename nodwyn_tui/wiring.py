"""Puts the worker together: the only place that picks parts."""

from collections.abc import Mapping

from nodwyn_tui.agent.assembly import Rooms
from nodwyn_tui.agent.connecting import Connector
from nodwyn_tui.agent.counting import Counting, Tokenizer
from nodwyn_tui.agent.local_model import LocalModel
from nodwyn_tui.agent.models import Models
from nodwyn_tui.agent.opening import Household
from nodwyn_tui.agent.worker import Worker
from nodwyn_tui.config.credentials import Credentials, variable_names
from nodwyn_tui.config.environment import read_environment
from nodwyn_tui.config.files import load_settings
from nodwyn_tui.config.paths import find_paths
from nodwyn_tui.link.commands import Open
from nodwyn_tui.link.local import Back
from nodwyn_tui.providers.encodings import EncodingName
from nodwyn_tui.providers.shipped import FILE, Shipped
from nodwyn_tui.sandbox.shell_words import allowed
from nodwyn_tui.store.images import Picture
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.store.skills import Content
from nodwyn_tui.system.clock import SystemClock
from nodwyn_tui.tools.registry import default_tools


async def work(back: Back) -> None:
    """A worker over one end of a link, until its front leaves."""
    await Worker(back, assemble).serve()


def make_picture(data: bytes, name: str) -> Picture:
    """An image fit to be kept; Pillow is imported when the first one comes."""
    from nodwyn_tui.store.pictures import made

    return made(data, name)


def load_tokenizer(name: EncodingName) -> Tokenizer | None:
    """The tokenizer of an encoding; tiktoken is imported when something is first counted."""
    from nodwyn_tui.providers.tokenizers import load

    return load(name)


def read_skill(data: bytes, shown: str, folder: str) -> Content:
    """A `SKILL.md`; the YAML library is imported when the first one comes."""
    from nodwyn_tui.store.skill_file import read

    return read(data, shown, folder)


def assemble(command: Open) -> Household:
    """The rooms, settings and models that the first command asks for."""
    environment = read_environment()
    paths = find_paths(environment, command.config_file)
    loaded = load_settings(paths.config_file, environment, must_exist=paths.config_given)
    clock = SystemClock()
    credentials = Credentials(environment, paths.config_file.parent)
    redactor = Redactor(credentials.held(loaded.servers.values()))

    def child_environment() -> Mapping[str, str]:
        servers = models.loaded.servers.values()
        return environment.for_children(variable_names(servers), credentials.held(servers))

    shipped = Shipped(paths.state / FILE)
    local = LocalModel(paths.cache, child_environment)
    connector = Connector(
        loaded=loaded,
        environment=environment,
        credentials=credentials,
        clock=clock,
        redactor=redactor,
    )
    models = Models(connector, shipped, local)
    models.strategy = command.strategy
    return Household(
        rooms=Rooms(
            state=paths.state,
            cache=paths.cache,
            clock=clock,
            redactor=redactor,
            make_tools=default_tools,
            shell_allows=allowed,
            child_environment=child_environment,
            make_picture=make_picture,
            counting=Counting(load_tokenizer),
            read_skill=read_skill,
        ),
        models=models,
    )
