"""Findings as pictures, SVG or PNG: what each policy costs, and a session's course (ENG-30).

matplotlib is an extra of the package, imported here alone, and only where a picture is asked for.
"""

import importlib
import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nodwyn_tui.errors import UsageError
from nodwyn_tui.lab.report import Findings, scaled
from nodwyn_tui.lab.rows import Row, Sums
from nodwyn_tui.store.places import LOG_NAME

ENDINGS = (".svg", ".png")
MOST_POLICIES = 60
"""More bars, one above the other, nobody reads."""
MOST_COURSES = 4

PAPER, INK, RULE = "#fbfaf7", "#22252a", "#d9d7d0"
"""A picture brings its own ground, so that it reads the same on a dark page and on a light one."""
CACHED, WRITTEN, ANEW, COST = "#9cc3e0", "#efc36b", "#b8432f", "#4d6a8a"
"""Told apart by lightness too, for who does not tell the colours."""
PARTS = (
    ("read from the cache", CACHED),
    ("read anew and written to the cache", WRITTEN),
    ("read anew", ANEW),
)

STYLE = {
    "font.size": 9.0,
    "text.parse_math": False,  # a dollar sign is a dollar sign
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.facecolor": PAPER,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": RULE,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "savefig.dpi": 144,
    "svg.fonttype": "none",  # text stays text: it can be searched and copied
    "svg.hashsalt": "nodwyn",  # the same findings, the same bytes
}
CHARACTER = 0.08
"""Inches that a character may need."""
ROOM = 1.35
"""Of the longest bar's length, what a panel has for bars and the figures behind them."""
BEHIND = {"xytext": (3, 0), "textcoords": "offset points", "va": "center", "fontsize": 8}


def need_pictures(target: str) -> None:
    """Raises `UsageError` if `target` ends in no kind of picture, or without the extra that draws:
    best asked before a long fold.
    """
    if Path(target).suffix.lower() not in ENDINGS:
        raise UsageError(f"a picture is saved as {' or '.join(ENDINGS)}, not as {target!r}")
    _library("matplotlib")


def need_costs(policies: Sequence[str]) -> None:
    """Raises `UsageError` for more policies than `costs` can show."""
    if len(policies) > MOST_POLICIES:
        raise UsageError(
            f"--chart draws up to {MOST_POLICIES} policies, not {len(policies):,}: ask for fewer,"
            " or take --csv"
        )


def need_course(logs: Sequence[Path], policies: Sequence[str]) -> None:
    """Raises `UsageError` for more logs or policies than `course` can show."""
    if len(logs) != 1:
        raise UsageError(f"--course draws the requests of one log, not of {len(logs):,}: name one")
    if len(policies) > MOST_COURSES:
        raise UsageError(
            f"--course draws up to {MOST_COURSES} policies, not {len(policies):,}: ask for fewer"
        )


def costs(findings: Findings, target: str) -> bytes:
    """Bars by policy, a panel for each cache model: the prompt by where it came from, with its
    cached share, and the cost where prices were given. In the format that `target` ends in.
    """
    with _style():
        return _encoded(_costs(findings), target)


def course(findings: Findings, target: str) -> bytes:
    """A session's prompts request by request, with the cached part of each, and its trims: a panel
    for each policy and cache model. Needs `findings.rows`. In the format that `target` ends in.
    `UsageError` where no request was answered.
    """
    if not findings.rows:
        raise UsageError("no request of this log was answered: there is no course to draw")
    with _style():
        return _encoded(_course(findings), target)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            "--chart and --course need the extra that brings matplotlib: install nodwyn-tui[lab],"
            " or take the table or --csv"
        ) from error


@contextmanager
def _style() -> Iterator[None]:
    """Ours on the library's own defaults, whatever settings file it found."""
    matplotlib = _library("matplotlib")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def _encoded(figure: Any, target: str) -> bytes:
    """A file that depends on the findings alone: without a date and the library's name."""
    out = io.BytesIO()
    kind = Path(target).suffix.lower()[1:]
    unsaid = {"svg": ("Date", "Creator"), "png": ("Software",)}[kind]
    figure.savefig(out, format=kind, metadata=dict.fromkeys(unsaid))
    return out.getvalue()


def _costs(findings: Findings) -> Any:
    policies, models = _axes_of(findings)
    priced = any(sums.cost_usd is not None for sums in findings.sums)
    figure, panels = _panels(
        width=max(map(len, policies)) * CHARACTER + 2.7 * len(models),
        height=(len(policies) * 0.22 + 1.0) * (1 + priced) + 1.4,
        shape=(1 + priced, len(models)),
        sharex="row",
    )
    most = max(sums.prompt_tokens for sums in findings.sums)
    dearest = max(sums.cost_usd or 0.0 for sums in findings.sums)
    for at, model in enumerate(models):
        mine = [sums for sums in findings.sums if sums.cache_model == model]
        panels[0][at].set_title(model, fontweight="bold")
        _prompt_bars(panels[0][at], mine, most)
        if priced:
            _cost_bars(panels[1][at], mine, dearest)
    for line in panels:
        line[0].set_ylabel("policy")
    panels[0][0].set_yticks(range(len(policies)), policies)
    panels[0][0].invert_yaxis()
    _tell(figure, panels[0][0], "What each policy costs", findings)
    return figure


def _prompt_bars(panel: Any, sums: Sequence[Sums], most: int) -> None:
    """The prompt in its parts; behind it, the cached share."""
    places = range(len(sums))
    starts = [0] * len(sums)
    for (label, color), tokens in zip(PARTS, _parts(sums), strict=True):
        panel.barh(places, tokens, left=starts, color=color, label=label, height=0.72)
        starts = [start + own for start, own in zip(starts, tokens, strict=True)]
    for place, each in enumerate(sums):
        share = "?" if each.cached_share is None else f"{each.cached_share:.1%}"
        panel.annotate(share, (each.prompt_tokens, place), **BEHIND)
    panel.set_xlabel("prompt tokens, and the share cached")
    _scale(panel, most)
    panel.xaxis.set_major_formatter(_library("matplotlib.ticker").EngFormatter())


def _cost_bars(panel: Any, sums: Sequence[Sums], dearest: float) -> None:
    dollars = [each.cost_usd or 0.0 for each in sums]
    panel.barh(range(len(sums)), dollars, color=COST, height=0.72)
    for place, cost in enumerate(dollars):
        said = f"${cost:,.2f}" if dearest >= 1 else f"${cost:.4f}"
        panel.annotate(said, (cost, place), **BEHIND)
    panel.set_xlabel("cost in US dollars")
    _scale(panel, dearest)
    panel.xaxis.set_major_formatter("${x:,g}")


def _scale(panel: Any, most: float) -> None:
    """A scale from 0, with room for the figures behind the longest bar."""
    panel.set_xlim(0, most * ROOM or 1)
    panel.grid(axis="y", visible=False)
    panel.locator_params(axis="x", nbins=4)


def _course(findings: Findings) -> Any:
    policies, models = _axes_of(findings)
    figure, panels = _panels(
        width=max(9.0, 4.5 * len(models)),
        height=2.6 * len(policies) + 1.4,
        shape=(len(policies), len(models)),
        sharex=True,
    )
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in findings.rows:
        rows.setdefault((row.policy, row.cache_model), []).append(row)
    for line, policy in zip(panels, policies, strict=True):
        for panel, model in zip(line, models, strict=True):
            if shown := rows.get((policy, model)):
                _requests(panel, shown)
            panel.set_title(f"{policy} · {model}", fontweight="bold")
        line[0].set_ylabel("prompt tokens")
    panels[0][0].set_xlim(0.5, max(map(len, rows.values())) + 0.5)
    for panel in panels[-1]:
        panel.set_xlabel("request")
    path = findings.logs[0]
    name = path.parent.name if path.name == LOG_NAME else path.name
    _tell(figure, panels[0][0], f"The course of {_plain(name)}", findings)
    return figure


def _requests(panel: Any, rows: Sequence[Row]) -> None:
    """Prompts side by side, in their parts; a line above a request that was trimmed, or that asked
    for a handover note.
    """
    ticker = _library("matplotlib.ticker")
    edges = [at + 0.5 for at in range(len(rows) + 1)]
    starts = [0] * len(rows)
    for (label, color), tokens in zip(PARTS, _parts(rows), strict=True):
        ends = [start + own for start, own in zip(starts, tokens, strict=True)]
        panel.stairs(ends, edges, baseline=starts, fill=True, color=color, label=label)
        starts = ends
    most = max(starts) * ROOM
    for label, style, places in (
        ("a trim", "dotted", [at for at, row in enumerate(rows, 1) if row.elided]),
        ("a handover note", "solid", [n for n, r in enumerate(rows, 1) if r.purpose == "handover"]),
    ):
        above = [rows[at - 1].prompt_tokens for at in places]
        panel.vlines(places, above, most, color=INK, linewidth=1.0, linestyle=style, label=label)
    panel.set_ylim(bottom=0)
    panel.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    panel.yaxis.set_major_formatter(ticker.EngFormatter())


def _axes_of(findings: Findings) -> tuple[list[str], list[str]]:
    """The policies and the cache models that there are, each once."""
    return (
        list(dict.fromkeys(sums.policy for sums in findings.sums)),
        list(dict.fromkeys(sums.cache_model for sums in findings.sums)),
    )


def _parts(each: Sequence[Sums] | Sequence[Row]) -> list[list[int]]:
    """By `PARTS`, the tokens of each."""
    return [
        [one.cached_tokens for one in each],
        [one.written_tokens for one in each],
        [one.prompt_tokens - one.cached_tokens - one.written_tokens for one in each],
    ]


def _panels(
    *, width: float, height: float, shape: tuple[int, int], sharex: bool | str
) -> tuple[Any, Any]:
    """A figure of so many inches at least, and its panels by row and column. It finds room for all
    labels itself.
    """
    figure = _library("matplotlib.figure").Figure((max(width, 7.0), height), layout="constrained")
    return figure, figure.subplots(*shape, sharex=sharex, sharey=True, squeeze=False)


def _tell(figure: Any, panel: Any, title: str, findings: Findings) -> None:
    """The title, where the figures come from, and what the colours of `panel` mean."""
    room = int(figure.get_figwidth() / CHARACTER)
    figure.suptitle(f"{title}\n{textwrap.fill(scaled(findings), room)}", fontsize=10)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=5)


def _plain(name: str) -> str:
    """A name that any font has the letters of."""
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in name)
