"""What the lab finds: a row a request, and the sums over rows."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One answered request under a policy in a cache model. Tokens, US dollars; unknown is `None`.

    `elided` are the seqs that trims took out since the row before, `left_…` what left the window of
    its context since then, for whatever reason; `reported_…` is what its reply said when it was
    recorded.
    """

    log: str
    session: str
    policy: str
    cache_model: str
    seq: int
    at: str
    ctx: int
    purpose: str
    model: str
    estimate: int
    prompt_tokens: int
    cached_tokens: int
    written_tokens: int
    uncached_tokens: int
    output_tokens: int
    cost_usd: float | None
    elided: tuple[int, ...]
    left_results: int
    left_replies: int
    left_others: int
    left_tokens: int
    reported_prompt_tokens: int | None
    reported_cached_tokens: int | None


@dataclass(slots=True)
class Sums:
    """Sums over the rows of one policy in one cache model, of a session or of many. `cost_usd` is
    `None` where no prices were given.
    """

    policy: str
    cache_model: str
    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    trims: int = 0
    left_results: int = 0
    left_replies: int = 0
    left_others: int = 0
    left_tokens: int = 0

    @property
    def uncached_tokens(self) -> int:
        """What had to be read anew, written to a cache or not."""
        return self.prompt_tokens - self.cached_tokens

    @property
    def cached_share(self) -> float | None:
        """0 to 1; unknown (`None`) without a prompt (ENG-29)."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else None

    def take(self, row: Row) -> None:
        """Counts a request in."""
        self.requests += 1
        self.trims += bool(row.elided)
        self._take(row)

    def merge(self, other: "Sums") -> None:
        """Counts the sums of another session in."""
        self.requests += other.requests
        self.trims += other.trims
        self._take(other)

    def _take(self, other: "Row | Sums") -> None:
        self.prompt_tokens += other.prompt_tokens
        self.cached_tokens += other.cached_tokens
        self.written_tokens += other.written_tokens
        self.output_tokens += other.output_tokens
        self.left_results += other.left_results
        self.left_replies += other.left_replies
        self.left_others += other.left_others
        self.left_tokens += other.left_tokens
        if other.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + other.cost_usd
