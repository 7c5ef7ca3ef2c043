"""`nodwyn models`: which models there are and what is known of them, entries added and removed, one
tried out or fetched, the figures that come along refreshed.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nodwyn_tui.agent.models import Models, listed_servers
from nodwyn_tui.agent.offers import Offer, offers
from nodwyn_tui.cli import output
from nodwyn_tui.cli.asked import positive_int
from nodwyn_tui.cli.config import change, path_of
from nodwyn_tui.cli.configured import Configured, config_option, configured, household
from nodwyn_tui.cli.pulling import pull
from nodwyn_tui.cli.refreshing import ROUTER, refresh
from nodwyn_tui.cli.trying import test
from nodwyn_tui.config.allowed import KeyPath
from nodwyn_tui.domain.price import Price
from nodwyn_tui.errors import UsageError
from nodwyn_tui.providers.facts import ModelFacts


def run(arguments: Sequence[str]) -> int:
    """Does what one of the sub-commands says."""
    parsed = _parser().parse_args(arguments)
    match parsed.command:
        case "list":
            asyncio.run(_list(household(parsed.config).models, parsed.server, as_json=parsed.json))
        case "add":
            _add(configured(parsed.config), parsed)
        case "remove":
            _remove(configured(parsed.config), parsed.name)
        case "test":
            return asyncio.run(
                test(household(parsed.config), parsed.name, sure=parsed.yes, as_json=parsed.json)
            )
        case "pull":
            asyncio.run(pull(household(parsed.config), parsed.server, parsed.name))
        case "refresh":
            into = Path(parsed.into).expanduser() if parsed.into else None
            asyncio.run(refresh(household(parsed.config), parsed.server, into))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nodwyn models", description="Models that can be asked.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="entries, and what servers list, with their figures")
    listing.add_argument(
        "--server", action="append", default=[], metavar="NAME",
        help="a server to ask, and its entries; default: your own ones, and Ollama",
    )  # fmt: skip
    listing.add_argument("--json", action="store_true", help="as JSON, with every figure's source")
    adding = commands.add_parser("add", help="write a model's entry into config.toml")
    adding.add_argument("name", help="the name you give it, any text")
    adding.add_argument("--server", required=True, metavar="NAME", help="the server it is on")
    adding.add_argument("--model", required=True, metavar="ID", help="its id there")
    adding.add_argument("--context", type=positive_int, metavar="N", help="its context in tokens")
    adding.add_argument(
        "--set", action="append", default=[], type=_setting, metavar="KEY=VALUE",
        help="one of its settings, such as effort=high or price.input=2; may be repeated",
    )  # fmt: skip
    adding.add_argument("--lead", action="store_true", help="from now on it leads")
    removing = commands.add_parser("remove", help="take a model's entry out of config.toml")
    removing.add_argument("name")
    trying = commands.add_parser(
        "test",
        help="send a tiny task and a picture, and say what works; a few cents at most",
    )
    trying.add_argument("name", help="a [models] name or SERVER/ID")
    trying.add_argument("--json", action="store_true", help="as JSON")
    trying.add_argument("--yes", action="store_true", help="without being asked, whatever it costs")
    pulling = commands.add_parser("pull", help="have Ollama fetch a model from its library")
    pulling.add_argument("name", help="its name there, such as qwen3:8b")
    pulling.add_argument("--server", default="ollama", metavar="NAME", help="default: ollama")
    refreshing = commands.add_parser(
        "refresh", help="take over the figures that a router lists; sends no key"
    )
    refreshing.add_argument("--server", default=ROUTER, metavar="NAME", help=f"default: {ROUTER}")
    refreshing.add_argument(
        "--into", default="", metavar="FILE", help="default: in the state folder"
    )
    for command in (listing, adding, removing, trying, pulling, refreshing):
        config_option(command)
    return parser


def _setting(text: str) -> tuple[KeyPath, str]:
    """`KEY=VALUE` of a model's entry."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError("write KEY=VALUE, such as effort=high")
    return path_of(key.strip()), value.strip()


async def _list(models: Models, servers: Sequence[str], *, as_json: bool) -> None:
    for server in servers:
        if server not in models.loaded.servers:
            raise UsageError(f"no server is called {server!r}: {', '.join(models.loaded.servers)}")
    asked = servers or listed_servers(models.loaded)
    found = await offers(models, asked, only=bool(servers))
    if as_json:
        output.json_line([_value(each) for each in found.models])
    else:
        for each in found.models:
            output.show(_line(each))
    for failure in found.failures:
        output.tell(f"warning: {failure}")


def _value(offer: Offer) -> dict[str, object]:
    """An offer as JSON: each figure with its source, unknown as null."""
    facts = offer.facts
    return {
        "name": offer.name,
        "server": offer.server,
        "model": offer.id,
        "configured": offer.configured,
        "leads": offer.leads,
        "context": {"tokens": facts.context, "from": facts.context_from or None},
        "max_output": {"tokens": facts.max_output, "from": facts.max_output_from or None},
        "price": _price_value(facts.price),
        "abilities": {
            "tools": facts.tools,
            "thinking": facts.thinking,
            "images": facts.images,
            "from": facts.abilities_from or None,
        },
        "cache_min": {"tokens": facts.cache_min, "from": facts.cache_min_from or None},
    }


def _price_value(price: Price | None) -> dict[str, Any] | None:
    if price is None:
        return None
    return {
        **asdict(price.rates),
        "tiers": [{"above": tier.above, **asdict(tier.rates)} for tier in price.tiers],
        "from": price.source,
    }


def _line(offer: Offer) -> str:
    mark = "*" if offer.leads else " "
    where = f"{offer.server}/{offer.id}" if offer.configured else ""
    return f"{mark} {offer.name:<32} {where:<36} {'; '.join(_words(offer.facts))}".rstrip()


def _words(facts: ModelFacts) -> list[str]:
    """A model's figures, each with its source."""
    words = []
    if facts.context:
        words.append(f"{facts.context:,} tokens ({facts.context_from})")
    if facts.max_output:
        words.append(f"replies to {facts.max_output:,} ({facts.max_output_from})")
    if facts.price:
        rates = facts.price.rates
        words.append(
            f"{_dollars(rates.input)} in, {_dollars(rates.output)} out ({facts.price_from})"
        )
    able = [name for name in ("tools", "thinking", "images") if getattr(facts, name)]
    if able:
        words.append(f"{', '.join(able)} ({facts.abilities_from})")
    return words


def _dollars(rate: float | None) -> str:
    return "$?" if rate is None else f"${rate:g}"


def _add(found: Configured, parsed: argparse.Namespace) -> None:
    """Writes the entry, and nothing else but what was asked for (C74)."""
    server = found.server(parsed.server)
    if parsed.name in found.loaded.settings.models:
        raise UsageError(f"there is a model {parsed.name!r} already; remove it first, or edit it")
    if not parsed.model.strip() or not parsed.name:
        raise UsageError("a model has a name and an id")
    entry = {"server": parsed.server, "model": parsed.model}
    if parsed.context:
        entry["num_ctx" if server.provider == "ollama" else "context"] = str(parsed.context)
    wanted: dict[KeyPath, str | None] = {
        ("models", parsed.name, key): value for key, value in entry.items()
    }
    wanted |= {("models", parsed.name, *path): value for path, value in parsed.set}
    if parsed.lead:
        wanted["model",] = parsed.name
    change(found, wanted)
    output.tell(f"{parsed.name} is {parsed.server}/{parsed.model}, in {found.file}")


def _remove(found: Configured, name: str) -> None:
    """Takes the entry out, and where it led or fell back, that with it: it would name nothing."""
    settings = found.loaded.settings
    if name not in settings.models:
        known = ", ".join(settings.models) or "none has an entry"
        raise UsageError(f"no model is called {name!r}: {known}")
    change(found, {("models", name): None})
    for key, value in (("model", settings.model), ("fallback", settings.fallback)):
        if value == name:
            output.tell(f"{key} named it, and names nothing now")
    output.tell(f"{name} is gone from {found.file}")
