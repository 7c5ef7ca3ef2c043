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
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nodwyn_tui.domain.price import Hours, Price, Rates, Tier
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
_Minute = Annotated[int, Field(ge=0, le=24 * 60)]


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


class _Hours(_Rates):
    start: _Minute
    end: _Minute


class _Price(_Rates):
    tiers: tuple[_Tier, ...] = ()
    off_peak: tuple[_Hours, ...] = ()

    def table(self, source: str) -> Price:
        tiers = tuple(Tier(tier.above, tier.rates()) for tier in self.tiers)
        hours = tuple(Hours(part.start, part.end, part.rates()) for part in self.off_peak)
        return Price(rates=self.rates(), tiers=tiers, off_peak=hours, source=source)


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
            price=self.price.table(where) if self.price else None,
            tools=self.tools,
            thinking=self.thinking,
            images=self.images,
            abilities_from=where if named else "",
            cache_min=self.cache_min,
            cache_min_from=where if self.cache_min else "",
        )


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
    return Record(
        host=host,
        id=name,
        context=facts.context,
        max_output=facts.max_output,
        tools=facts.tools,
        thinking=facts.thinking,
        images=facts.images,
        price=_priced(facts.price) if facts.price else None,
        source=source,
        date=day,
    )


def _priced(price: Price) -> _Price:
    """What is not there stays out of the file."""
    tiers = [{"above": tier.above, **asdict(tier.rates)} for tier in price.tiers]
    hours = [{"start": h.start, "end": h.end, **asdict(h.rates)} for h in price.off_peak]
    more = {"tiers": tiers, "off_peak": hours}
    return _Price.model_validate(asdict(price.rates) | {k: v for k, v in more.items() if v})


def file_text(records: Iterable[Record], about: str) -> str:
    """A file of records: one a line, in order, so that two versions compare well."""
    ordered = sorted(records, key=lambda record: (record.host, record.id, record.date))
    lines = [record.model_dump_json(exclude_none=True, exclude_unset=True) for record in ordered]
    body = ",\n".join(f"    {line}" for line in lines)
    return (
        f'{{\n  "about": {json.dumps(about, ensure_ascii=False)},\n  "models": [\n{body}\n  ]\n}}\n'
    )
