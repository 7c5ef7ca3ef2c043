"""`nodwyn models refresh`: the figures of models that a router lists, kept for their vendors' own
servers, which list none (PRV-11).
"""

from pathlib import Path

from nodwyn_tui.agent.opening import Household
from nodwyn_tui.cli import output
from nodwyn_tui.errors import StoreError, UsageError
from nodwyn_tui.providers.shipped import FILE, Record, file_text, records_in, records_of
from nodwyn_tui.system.atomic import disk_error, make_private_dir, write_whole

ROUTER = "openrouter"

ABOUT = (
    "Figures of models whose servers' own listings do not tell them. Each record names its source"
    " and the day it was read; `nodwyn models refresh --into FILE` adds those of a listing. Prices"
    " are US dollars per million tokens, sizes are tokens; the id * stands for every model of a"
    " host."
)


async def refresh(home: Household, name: str, into: Path | None) -> None:
    """Asks a server's public listing, without any key, and takes its records over: into `into`,
    else into the person's own file.
    """
    server = home.loaded.servers.get(name)
    if server is None:
        raise UsageError(f"no server is called {name!r}: {', '.join(home.loaded.servers)}")
    keyless = server.model_copy(update={"credential": ""})
    provider = await home.models.connector.provider(name, keyless)
    try:
        listings = await provider.catalogue.models()
    finally:
        await provider.aclose()
    source = f"{name} /models"
    fresh = records_of(listings, source, home.rooms.clock.now().date())
    if not fresh:
        raise UsageError(f"{name} lists no model of a vendor that is known here")
    file = into or home.rooms.state / FILE
    if into is None:
        make_private_dir(file.parent)
    write_whole(file, file_text([*_others(file, source), *fresh], ABOUT).encode())
    output.tell(f"{len(fresh)} models of {source} are in {file}")


def _others(file: Path, source: str) -> list[Record]:
    """What stood there from other sources; the earlier figures of this one are replaced."""
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise disk_error("read", file, error) from error
    except UnicodeDecodeError as error:
        raise StoreError(f"{file} is not text: move it away, then try again") from error
    return [record for record in records_in(text) if record.source != source]
