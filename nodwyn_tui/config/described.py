"""What each setting is, in one line: the single source of the Settings screen, of the command line
and of docs/settings.md. What may stand there, and its default, is the schema's to say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from nodwyn_tui.config.allowed import KeyPath
from nodwyn_tui.config.schema import ProviderName
from nodwyn_tui.domain.keys import CHANGEABLE, Part
from nodwyn_tui.domain.words import Strategy

NEXT_SESSION = "from the next session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A setting. In `path` a `*` stands for the person's own name. `help` says what it does and
    what it costs, `unset` what counts where nothing is set and the schema has no default.
    `providers` are the protocols on which alone it works (all, where none is named), `strategies`
    those with which alone it does. `options` says of each value what it does and what it costs.
    `later` says when a change counts, where not at once. `suggestions` are words for a text that
    may be any. A `blank` text says something of its own; else it is the same as none.
    """

    path: KeyPath
    label: str
    help: str
    unset: str = ""
    providers: tuple[ProviderName, ...] = ()
    strategies: tuple[Strategy, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    later: str = ""
    suggestions: tuple[str, ...] = ()
    blank: bool = False

    @property
    def key(self) -> str:
        """The key alone."""
        return self.path[-1]

    def of(self, name: str) -> KeyPath:
        """Its path in the entry that the person calls `name`."""
        return tuple(name if key == "*" else key for key in self.path)


_HOSTED: tuple[ProviderName, ...] = ("openai", "responses", "anthropic")

_GENERAL = (
    Described(
        path=("model",),
        label="Leading model",
        help="The entry of [models] that a session starts with, or SERVER/ID.",
        unset="the first entry, else what a local Ollama has",
        later=NEXT_SESSION,
    ),
    Described(
        path=("fallback",),
        label="Fallback",
        help="Takes over, visibly, when the model fails for good; it reads the whole prompt anew.",
        unset="none",
    ),
)

_APPROVALS = (
    Described(
        path=("mode",),
        label="Mode",
        help="What runs unasked: plan only reads, ask asks before writes and commands, edits lets"
        " writes in the workspace pass, auto lets all pass and needs a sandbox.",
        later=NEXT_SESSION,
    ),
    Described(
        path=("approvals", "allow"),
        label="Allowed unasked",
        help="Calls that need no question, TOOL: GLOB, one a line; * is all of them.",
    ),
)

_LIMITS = (
    Described(
        path=("limits", "max_steps"),
        label="Requests a run",
        help="A run pauses and asks after so many requests.",
        unset="no limit",
    ),
    Described(
        path=("limits", "max_seconds"),
        label="Seconds a run",
        help="A run pauses and asks after so many seconds.",
        unset="no limit",
    ),
    Described(
        path=("limits", "max_cost"),
        label="Dollars a run",
        help="A run pauses and asks at so many US dollars; it needs the model's price.",
        unset="no limit",
    ),
    Described(
        path=("limits", "max_tokens"),
        label="Tokens a run",
        help="A run pauses and asks at so many tokens; one read from the cache counts a tenth.",
        unset="no limit",
    ),
)

_APPEARANCE = (
    Described(
        path=("ui", "theme"),
        label="Theme",
        help="The screen's colours: nodwyn-dark, nodwyn-light, or one of Textual's.",
        suggestions=("nodwyn-dark", "nodwyn-light"),
    ),
)

_PARTS: Mapping[Part, str] = {
    "anywhere": "Anywhere",
    "writing": "Writing",
    "conversation": "In the conversation",
    "settings": "In the settings",
}

_KEYS = (
    Described(
        path=("ui", "enter"),
        label="Enter",
        help="Whether Enter sends and Ctrl+J or Shift+Enter breaks the line, or the other way"
        " round.",
    ),
    *(
        Described(
            path=("keys", key.id),
            label=key.id.replace("_", " ").capitalize(),
            help=f"{_PARTS[key.part]}: {key.does}.",
            blank=True,
        )
        for key in CHANGEABLE
    ),
)

_SERVERS = (
    Described(
        path=("servers", "*", "provider"),
        label="Protocol",
        help="What it speaks: ollama, openai (chat completions), responses, or anthropic.",
    ),
    Described(
        path=("servers", "*", "base_url"),
        label="Address",
        help="Where its API begins, with /v1 where there is one; http only to private addresses.",
    ),
    Described(
        path=("servers", "*", "credential"),
        label="Key from",
        help="Where its key is kept, never the key itself: env:NAME, keyring:NAME, file:PATH or"
        " command:PROGRAM.",
        unset="no key",
    ),
    Described(
        path=("servers", "*", "auth"),
        label="Key header",
        help="The header that the key goes in: Authorization (bearer) or x-api-key.",
        unset="what the protocol has",
    ),
    Described(
        path=("servers", "*", "cache_key_header"),
        label="Session header",
        help="One more header for the session's name, which keeps it on one replica of a cluster.",
        unset="none",
        providers=_HOSTED,
    ),
    Described(
        path=("servers", "*", "api_version"),
        label="API version",
        help="The protocol's version, where the server wants another than the usual one.",
        unset="the usual one",
        providers=("anthropic",),
    ),
    Described(
        path=("servers", "*", "ca_file"),
        label="Authorities",
        help="A file of certificate authorities in place of the system's.",
        unset="SSL_CERT_FILE, else the system's",
    ),
    Described(
        path=("servers", "*", "insecure"),
        label="Unencrypted",
        help="Allows http to an address that is not private: whoever is on the way reads all of it,"
        " the key too.",
    ),
    Described(
        path=("servers", "*", "timeouts", "connect"),
        label="Connect within",
        help="Seconds to wait for a connection.",
    ),
    Described(
        path=("servers", "*", "timeouts", "first"),
        label="First byte within",
        help="Seconds to wait for the first byte: a long prompt on a slow machine takes minutes.",
    ),
    Described(
        path=("servers", "*", "timeouts", "idle"),
        label="Pause at most",
        help="Seconds between two bytes before a reply counts as broken off, and is paid anew.",
    ),
    Described(
        path=("servers", "*", "oauth", "authorize_url"),
        label="Sign-in page",
        help="Where a person signs in with a browser, for a credential oauth:…",
        unset="no sign-in",
    ),
    Described(
        path=("servers", "*", "oauth", "token_url"),
        label="Token address",
        help="Where the tokens of a sign-in come from.",
        unset="no sign-in",
    ),
    Described(
        path=("servers", "*", "oauth", "client_id"),
        label="Client id",
        help="What the server's owner calls this program.",
        unset="no sign-in",
    ),
    Described(
        path=("servers", "*", "oauth", "scopes"),
        label="Scopes",
        help="What a sign-in asks to be allowed, one a line.",
        unset="none",
    ),
    Described(
        path=("servers", "*", "oauth", "redirect_uri"),
        label="Way back",
        help="Where the browser comes back to, on this machine; without a port any free one.",
    ),
)

_OF_A_MODEL = (
    Described(
        path=("models", "*", "server"),
        label="Server",
        help="The server that the model is on.",
    ),
    Described(
        path=("models", "*", "model"),
        label="Model",
        help="Its id at that server, any text.",
    ),
    Described(
        path=("models", "*", "effort"),
        label="Effort",
        help="How much it thinks: off, low, medium, high or the server's own word; on anthropic"
        " also tokens. Thought is paid as output; a change reads the prompt anew on some servers.",
        unset="the server's own",
        suggestions=("off", "low", "medium", "high"),
    ),
    Described(
        path=("models", "*", "cache_control"),
        label="Cache ask",
        help="How long the server is asked to keep the prompt. Writing costs more (1.25 times for"
        " minutes, twice for an hour, by Anthropic's prices), reading a tenth.",
        providers=_HOSTED,
    ),
    Described(
        path=("models", "*", "cache_key"),
        label="Cache key",
        help="Who learns the session's name, a hash, which keeps it on one cache: body and headers"
        " (session), headers only (header), nobody (off). Costs nothing.",
        providers=_HOSTED,
    ),
    Described(
        path=("models", "*", "keep_reasoning"),
        label="Keep reasoning",
        help="Gives the model its own opaque reasoning back: of no reply, the latest, or all. It"
        " fills the window and spares thinking the same again; a change reads the history anew.",
        unset="true on anthropic, else false",
        providers=("responses", "anthropic"),
    ),
    Described(
        path=("models", "*", "summary"),
        label="Reasoning told",
        help="What it tells of its reasoning: off, auto, concise or detailed. Costs output tokens.",
        unset="auto where effort or keep_reasoning is set",
        providers=("responses",),
    ),
    Described(
        path=("models", "*", "dialect"),
        label="Dialect",
        help="How history and limits are spelled for servers that differ; a wrong one is refused by"
        " the server, which costs nothing.",
        providers=("openai",),
    ),
    Described(
        path=("models", "*", "num_ctx"),
        label="Context (num_ctx)",
        help="Tokens of context that Ollama loads the model with; each costs memory.",
        unset="the model's own, up to 32,768",
        providers=("ollama",),
    ),
    Described(
        path=("models", "*", "keep_alive"),
        label="Keep loaded",
        help="How long Ollama keeps it in memory, and its cache with it: 30m, 1h, -1 for ever.",
        unset="Ollama's own, 5 minutes",
        providers=("ollama",),
    ),
    Described(
        path=("models", "*", "context"),
        label="Context",
        help="Tokens that it holds, where its server does not tell or tells another figure.",
        unset="the server's listing, else the data that comes along, else 32,768",
    ),
    Described(
        path=("models", "*", "max_output"),
        label="Reply at most",
        help="Tokens of one reply; the window gives up as much room.",
        unset="[window] output_reserve, within what the model allows",
    ),
    Described(
        path=("models", "*", "images"),
        label="Images",
        help="Whether it takes images; each costs its tokens in every request while it is there.",
        unset="what its server says, else they are sent",
    ),
)

STRATEGY_COSTS: Mapping[str, str] = {
    "trim": "older results leave the window for a line each; every trim reads what follows it anew,"
    " and nothing else is spent.",
    "rollover": "the window begins anew without a note or request of its own; what is needed of the"
    " old one is looked up, a step each, and in the model's notes.",
    "compact": "the window begins anew with a note that the model writes; that request reads all of"
    " it once more, from the cache where there is one.",
}
"""What a full window costs under each strategy."""

_OF_A_WINDOW = (
    Described(
        path=("window", "strategy"),
        label="Strategy",
        help="What happens when the window fills.",
        options=STRATEGY_COSTS,
    ),
    Described(
        path=("window", "high_water"),
        label="High water",
        help="Tokens above which the window is trimmed; each trim reads what follows it anew.",
        unset="three quarters of what the context leaves for a prompt",
        strategies=("trim", "compact"),
    ),
    Described(
        path=("window", "low_water"),
        label="Low water",
        help="Tokens that a trim goes down to; lower is rarer, and forgets more.",
        unset="half of high water",
        strategies=("trim", "compact"),
    ),
    Described(
        path=("window", "max_result_tokens"),
        label="Result at most",
        help="Tokens of one tool result in the window; the whole of it stays in the log.",
        unset="high water's 48th part, from 3,072 to 16,384",
    ),
    Described(
        path=("window", "threshold"),
        label="Rollover at",
        help="At this share of the window and 5 % more a new one begins; 10 % below it the model is"
        " warned. Lower: more look-ups, higher: larger prompts, at 1 nothing happens by itself.",
        strategies=("rollover",),
    ),
    Described(
        path=("window", "fresh"),
        label="Fresh context",
        help="Where the plan, date, folder and recalled facts are told: each_request in rows that"
        " go again, on_change and run_start in rows that stay, off nowhere; auto by what the"
        " model's cache and reasoning allow.",
    ),
    Described(
        path=("window", "folds"),
        label="Folds",
        help="Stale file reads and failed attempts shrink to one line, where that saves more than"
        " reading what follows anew costs.",
    ),
)

_WINDOW = (
    *_OF_A_WINDOW,
    Described(
        path=("window", "output_reserve"),
        label="Room for replies",
        help="Tokens kept free for a reply, where the model's entry does not say.",
    ),
    Described(
        path=("window", "task_header"),
        label="Task header",
        help="What stands above each of your requests in the prompt.",
        unset="the built-in text",
        later=NEXT_SESSION,
        blank=True,
    ),
    Described(
        path=("window", "plan_header"),
        label="Plan header",
        help="What stands above a plan in the prompt.",
        unset="the built-in text",
        later=NEXT_SESSION,
        blank=True,
    ),
)

_RATES: Mapping[str, str] = {
    "input": "fresh prompt tokens",
    "cached": "prompt tokens that the cache held",
    "write": "prompt tokens that the cache is asked to keep",
    "write_long": "prompt tokens that it keeps for the longer time",
    "output": "tokens of replies, thinking included",
}


def _price(rate: str, of: str) -> Described:
    return Described(
        path=("models", "*", "price", rate),
        label=f"Price, {rate.replace('_', ' ')}",
        help=f"US dollars per million {of}. With one price of your own, the others are yours too.",
        unset="the server's listing, else the data that comes along, else unknown",
    )


_MODELS = (
    *_OF_A_MODEL,
    *(
        replace(each, path=("models", "*", each.key), unset=f"[window] {each.key}")
        for each in _OF_A_WINDOW
    ),
    *(_price(rate, of) for rate, of in _RATES.items()),
)

PAGES: Mapping[str, tuple[Described, ...]] = {
    "general": _GENERAL,
    "model": _MODELS,
    "server": _SERVERS,
    "window": _WINDOW,
    "approvals": _APPROVALS,
    "limits": _LIMITS,
    "appearance": _APPEARANCE,
    "keys": _KEYS,
}
"""Every setting, by the page of the Settings screen it stands on, in order."""


def every() -> Iterator[Described]:
    """Every setting, in the order of their pages."""
    for page in PAGES.values():
        yield from page


def described(path: KeyPath) -> Described | None:
    """The setting at a path of the file; `None` for a table, and for a key that is none."""
    return next((each for each in every() if _fits(each.path, path)), None)


def _fits(pattern: KeyPath, path: KeyPath) -> bool:
    return len(pattern) == len(path) and all(
        wanted in ("*", key) for wanted, key in zip(pattern, path, strict=True)
    )
