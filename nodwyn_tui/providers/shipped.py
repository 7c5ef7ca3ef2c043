"""Figures of models that their servers' listings do not tell: from a data file that comes with the
program, and from the person's own fresher one, which `nodwyn models refresh` writes (PRV-11).

Nothing here asks a server, and no request is changed by what stands here.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nodwyn_tui.domain.price import Price, Rates, Tier
from nodwyn_tui.providers.catalogue import ModelListing
from nodwyn_tui.providers.facts import ModelFacts
from nodwyn_tui.providers.routes import host_of

FILE = "models.json"
"""In the state folder: the person's own."""

EVERY = "*"

VENDORS: Mapping[str, str] = {
    "anthropic": "api.anthropic.com",
    "deepseek": "api.deepseek.com",
    "mistralai": "api.mistral.ai",
    "openai": "api.openai.com",
    "x-ai": "api.x.ai",
}
"""Whose own API a router's id begins with, and where that is. The router asks the vendor's prices,
and each figure says that it is from there."""

_DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")
_LARGEST = 16 * 1024 * 1024
_Positive = Annotated[int, Field(gt=0)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Rates(BaseModel):
    input: _Amount | None = None
    cached: _Amount | None = None
    write: _Amount | None = None
    write_long: _Amount | None = None
    output: _Amount | None = None

    def rates(self) -> Rates:
        return Rates(**self.model_dump(include=set(_Rates.model_fields)))


class _Tier(_Rates):
    above: _Positive


class _Price(_Rates):
    tiers: tuple[_Tier, ...] = ()


class Record(BaseModel):
    """What one source says of a model, as of a day."""

    model_config = ConfigDict(frozen=True)

    host: str
    id: str
    context: _Positive | None = None
    max_output: _Positive | None = None
    cache_min: _Positive | None = None
    tools: bool | None = None
    thinking: bool | None = None
    images: bool | None = None
    price: _Price | None = None
    source: str
    date: date

    def facts(self) -> ModelFacts:
        """The same with its source at each figure."""
        where = f"{self.source} ({self.date.isoformat()})"
        named = (self.tools, self.thinking, self.images) != (None, None, None)
        return ModelFacts(
            context=self.context,
            context_from=where if self.context else "",
            max_output=self.max_output,
            max_output_from=where if self.max_output else "",
            price=self._price(where),
            tools=self.tools,
            thinking=self.thinking,
            images=self.images,
            abilities_from=where if named else "",
            cache_min=self.cache_min,
            cache_min_from=where if self.cache_min else "",
        )

    def _price(self, where: str) -> Price | None:
        if self.price is None:
            return None
        tiers = tuple(Tier(tier.above, tier.rates()) for tier in self.price.tiers)
        return Price(rates=self.price.rates(), tiers=tiers, source=where)


class Shipped:
    """The records of both files, the later ones first. A file that is not there, or that holds
    something else, says nothing.
    """

    def __init__(self, own: Path | None = None) -> None:
        self._own = own
        self._records: tuple[Record, ...] | None = None

    def facts(self, base_url: str, model: str) -> ModelFacts:
        """What is known of a server's model."""
        host = host_of(base_url)
        names = [model, _DATED.sub("", model), EVERY]
        found = ModelFacts()
        for name in dict.fromkeys(names):
            for record in self._all():
                if (record.host, record.id) == (host, name):
                    found = found.over(record.facts())
        return found

    def _all(self) -> tuple[Record, ...]:
        # Read when the first model is asked about: most commands ask about none.
        if self._records is None:
            texts = [resources.files("nodwyn_tui.data").joinpath(FILE).read_text("utf-8")]
            texts += [text for text in (_text_of(self._own),) if text]
            records = [record for text in texts for record in records_in(text)]
            self._records = tuple(sorted(records, key=lambda record: record.date, reverse=True))
        return self._records


def _text_of(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        with file.open("rb") as stream:
            return stream.read(_LARGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def records_in(text: str) -> list[Record]:
    """A file's records; what is none is passed over."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    listed = value.get("models") if isinstance(value, dict) else None
    found = []
    for entry in listed if isinstance(listed, list) else ():
        try:
            found.append(Record.model_validate(entry))
        except ValidationError:
            continue
    return found


def records_of(listings: Iterable[ModelListing], source: str, day: date) -> list[Record]:
    """What a router's listing says of models that their vendors serve themselves: under the
    vendor's host, by the name that it has there. Variants of the router's own are left out.
    """
    found = []
    for listing in listings:
        vendor, _, name = listing.id.partition("/")
        host = VENDORS.get(vendor, "")
        if host and name and ":" not in name:
            own = name.replace(".", "-") if vendor == "anthropic" else name
            found.append(_record(host, own, listing.facts, source, day))
    return found


def _record(host: str, name: str, facts: ModelFacts, source: str, day: date) -> Record:
    rates: dict[str, Any] | None = asdict(facts.price.rates) if facts.price else None
    return Record(
        host=host,
        id=name,
        context=facts.context,
        max_output=facts.max_output,
        tools=facts.tools,
        thinking=facts.thinking,
        images=facts.images,
        price=_Price(**rates) if rates else None,
        source=source,
        date=day,
    )


def file_text(records: Iterable[Record], about: str) -> str:
    """A file of records: one a line, in order, so that two versions compare well."""
    ordered = sorted(records, key=lambda record: (record.host, record.id, record.date))
    lines = [record.model_dump_json(exclude_none=True, exclude_unset=True) for record in ordered]
    body = ",\n".join(f"    {line}" for line in lines)
    return (
        f'{{\n  "about": {json.dumps(about, ensure_ascii=False)},\n  "models": [\n{body}\n  ]\n}}\n'
    )
