"""Every setting, with its default and what it does. What the person wrote in `config.toml` becomes
these records; `files.py` reads it and collects what is wrong, entry by entry.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from nodwyn_tui.domain.events import Mode
from nodwyn_tui.domain.keys import Enter
from nodwyn_tui.domain.recipe import KeepReasoning, Strategy

ProviderName = Literal["ollama", "openai", "responses", "anthropic"]
CacheControl = Literal["off", "ephemeral", "1h", "12h"]
Summary = Literal["off", "auto", "concise", "detailed"]
CacheKey = Literal["session", "header", "off"]
DialectName = Literal[
    "compatible", "openai", "cerebras", "deepseek", "vllm", "llamacpp", "alternating"
]
Fresh = Literal["auto", "each_request", "on_change", "run_start", "off"]


MOST_THRESHOLD = 2
"""From 1 on nothing happens by itself; 70 would be a percentage, written where a share belongs."""
_TIME = r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]$"


class Section(BaseModel):
    """A table of the file: frozen; unknown keys are warned of by `files.py` and kept on disk."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)


class TimeoutSettings(Section):
    """Seconds to connect, to the first byte, between two bytes."""

    connect: float = Field(10.0, gt=0)
    first: float = Field(600.0, gt=0)
    idle: float = Field(120.0, gt=0)


class OAuthSettings(Section):
    """`[servers.NAME.oauth]`: where a person signs in to the server, and for what. The address that
    the browser comes back to is one of this machine; without a port any free one is taken.
    """

    authorize_url: str
    token_url: str
    client_id: str
    scopes: tuple[str, ...] = Field((), strict=False)
    redirect_uri: str = "http://127.0.0.1/callback"


class ServerSettings(Section):
    """`[servers.NAME]`: where a model is reached."""

    provider: ProviderName
    base_url: str
    credential: str = ""
    """`env:NAME`, `keyring:NAME`, `file:PATH`, `command:…`, or `oauth:` and a place of the second
    or third kind; never the key itself."""
    oauth: OAuthSettings | None = None
    cache_key_header: str = ""
    auth: Literal["bearer", "x-api-key"] | None = None
    api_version: str = ""
    ca_file: str = ""
    insecure: bool = False
    timeouts: TimeoutSettings = TimeoutSettings()


class RateSettings(Section):
    """US dollars per million tokens; `write_long` is for what a cache keeps for the longer time. A
    rate that is not set is unknown.
    """

    input: float | None = Field(None, ge=0)
    cached: float | None = Field(None, ge=0)
    write: float | None = Field(None, ge=0)
    write_long: float | None = Field(None, ge=0)
    output: float | None = Field(None, ge=0)


class TierSettings(RateSettings):
    """The rates of a request whose prompt has more tokens than `above`."""

    above: int = Field(gt=0)


class HoursSettings(RateSettings):
    """The rates between two times of the day, as `16:30`, in UTC."""

    start: str = Field(pattern=_TIME)
    end: str = Field(pattern=_TIME)


class PriceSettings(RateSettings):
    """A price table. Tiers and hours name what is another rate there."""

    tiers: tuple[TierSettings, ...] = Field((), strict=False)
    off_peak: tuple[HoursSettings, ...] = Field((), strict=False)


class WindowSettings(Section):
    """`[window]`: unset marks follow the model's context (ENG-18)."""

    high_water: int | None = Field(None, gt=0)
    low_water: int | None = Field(None, gt=0)
    max_result_tokens: int | None = Field(None, gt=0)
    output_reserve: int = Field(8192, gt=0)
    threshold: float = Field(0.70, gt=0, le=MOST_THRESHOLD)
    strategy: Strategy = "trim"
    fresh: Fresh = "auto"
    folds: bool = True
    task_header: str | None = None
    plan_header: str | None = None


class ModelSettings(Section):
    """`[models.NAME]`: a model and how it is asked."""

    server: str
    model: str
    num_ctx: int | None = Field(None, gt=0)
    keep_alive: str | None = None
    context: int | None = Field(None, gt=0)
    max_output: int | None = Field(None, gt=0)
    dialect: DialectName = "compatible"
    cache_control: CacheControl = "off"
    cache_key: CacheKey = "session"
    keep_reasoning: KeepReasoning | None = None
    effort: str | None = None
    """The server's own word, or a number of tokens."""
    summary: Summary | None = None
    images: bool | None = None
    strategy: Strategy | None = None
    high_water: int | None = Field(None, gt=0)
    low_water: int | None = Field(None, gt=0)
    max_result_tokens: int | None = Field(None, gt=0)
    threshold: float | None = Field(None, gt=0, le=MOST_THRESHOLD)
    fresh: Fresh | None = None
    folds: bool | None = None
    price: PriceSettings | None = None

    @field_validator("effort", mode="before")
    @classmethod
    def _as_text(cls, effort: object) -> object:
        """A number may be written as one."""
        return str(effort) if type(effort) is int else effort


class ApprovalSettings(Section):
    """`[approvals]`: patterns `TOOL: GLOB` that need no question."""

    allow: tuple[str, ...] = Field((), strict=False)


class LimitSettings(Section):
    """`[limits]`: what one run may use before it pauses and asks: requests, seconds, US dollars,
    tokens (a cached one counts a tenth).
    """

    max_steps: int | None = Field(None, gt=0)
    max_seconds: float | None = Field(None, gt=0)
    max_cost: float | None = Field(None, gt=0)
    max_tokens: int | None = Field(None, gt=0)


class UiSettings(Section):
    """`[ui]`: how the screen looks, and what Enter does in the prompt."""

    theme: str = "nodwyn-dark"
    enter: Enter = "sends"


class Settings(Section):
    """The whole file. `model` and `fallback` name entries of `models`."""

    model: str = ""
    fallback: str = ""
    mode: Mode = "ask"
    servers: dict[str, ServerSettings] = Field(default_factory=dict)
    models: dict[str, ModelSettings] = Field(default_factory=dict)
    window: WindowSettings = WindowSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    limits: LimitSettings = LimitSettings()
    ui: UiSettings = UiSettings()
    keys: dict[str, str] = Field(default_factory=dict)
    """Other keys, by the ids of `domain/keys.py`."""
