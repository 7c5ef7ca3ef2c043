"""The findings as pictures: what is said in them, that nothing is cut off, the same bytes again."""

import dataclasses
import io
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nodwyn_tui.errors import UsageError
from nodwyn_tui.lab import pictures
from nodwyn_tui.lab.cache_models import CACHE_MODELS
from nodwyn_tui.lab.measures import Prices
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.report import Findings, gather
from nodwyn_tui.lab.rows import Sums
from nodwyn_tui.lab.running import Job, fold
from nodwyn_tui.window.policy import ADDED
from tests.lab.record import SESSIONS

pytest.importorskip("matplotlib", reason="the extra `lab` is not installed")

PRICES = Prices(2.0, 0.2, 2.5, 10.0)
PAPER = (0xFB, 0xFA, 0xF7)


@pytest.fixture(autouse=True)
def no_warning() -> Iterator[None]:
    """A layout that found no room, a letter that no font has: neither may be."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def folded(*policies: LabPolicy, models: tuple[str, ...] = tuple(CACHE_MODELS)) -> Findings:
    job = Job(
        path=SESSIONS / "trims.jsonl", policies=policies, models=models, prices=PRICES, rows=True
    )
    return gather([fold(job)], policies, models)


def many() -> Findings:
    """Every recipe in every cache model, under the longest names that options make."""
    return Findings(
        sums=tuple(
            Sums(
                f"recipe={version},high=1000000,low=500000,cap=16384,folds=off",
                model,
                requests=9,
                prompt_tokens=1_000_000 * version,
                cached_tokens=900_000 * version,
                written_tokens=50_000 * version,
                cost_usd=1.5 * version,
            )
            for version in ADDED
            for model in CACHE_MODELS
        ),
        rows=(),
        logs=(Path("a"),),
        failures={},
        ratios={Path("a"): {"o": 0.75}},
    )


def words(picture: bytes) -> list[str]:
    """The texts of an SVG."""
    return ["".join(each.itertext()) for each in ElementTree.fromstring(picture).iter() if
            each.tag.endswith("}text")]  # fmt: skip


def edge(picture: bytes) -> set[tuple[int, ...]]:
    """The colours of a PNG's outermost pixels: ink there was cut off."""
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(picture)).convert("RGB")
    width, height = image.size
    around = [(x, y) for x in range(width) for y in (0, height - 1)]
    around += [(x, y) for y in range(height) for x in (0, width - 1)]
    return {image.getpixel(at) for at in around}


def test_costs_name_every_policy_cache_share_and_price() -> None:
    """ENG-30: which policy costs what, under each cache."""
    found = folded(LabPolicy(), LabPolicy(high=9_000))
    said = words(pictures.costs(found, "x.svg"))
    assert {"recorded", "high=9000", *CACHE_MODELS} <= set(said)
    assert {"policy", "cost in US dollars", "prompt tokens, and the share cached"} <= set(said)
    assert {"read from the cache", "read anew", "read anew and written to the cache"} <= set(said)
    for sums in found.sums:
        assert f"{sums.cached_share:.1%}" in said
        assert f"${sums.cost_usd:.4f}" in said


def test_costs_without_prices_are_prompts_alone() -> None:
    found = many()
    free = tuple(dataclasses.replace(sums, cost_usd=None) for sums in found.sums)
    said = words(pictures.costs(dataclasses.replace(found, sums=free), "x.svg"))
    assert "cost in US dollars" not in said
    assert said.count("90.0%") == len(found.sums)


@pytest.mark.parametrize("name", ["costs.png", "COSTS.PNG"])
def test_nothing_is_cut_off_with_every_recipe_and_cache(name: str) -> None:
    picture = pictures.costs(many(), name)
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert edge(picture) == {PAPER}


def test_course_shows_every_policy_its_requests_and_trims() -> None:
    """ENG-30: the window over a session's requests."""
    found = folded(LabPolicy(), LabPolicy(high=9_000), models=("kv-slot", "breakpoints"))
    said = words(pictures.course(found, "x.svg"))
    assert {"recorded · kv-slot", "high=9000 · breakpoints", "request", "prompt tokens"} <= set(
        said
    )
    assert {"read from the cache", "read anew", "a trim", "a handover note"} <= set(said)
    assert any(text.startswith("The course of trims.jsonl") for text in said)
    assert edge(pictures.course(found, "x.png")) == {PAPER}


def test_log_without_answered_requests_costs_nothing_and_has_no_course() -> None:
    found = dataclasses.replace(many(), sums=(Sums("recorded", "kv-slot"),))
    assert "?" in words(pictures.costs(found, "x.svg"))
    with pytest.raises(UsageError, match="there is no course to draw"):
        pictures.course(found, "x.svg")


def test_name_of_a_log_is_text_whatever_is_in_it() -> None:
    """A dollar sign begins no formula; control codes and foreign letters break no file."""
    name = Path("a$b$ <x>&\x1b[2J\N{HIRAGANA LETTER A}.jsonl")
    found = dataclasses.replace(folded(LabPolicy()), logs=(name,), ratios={name: {}})
    assert any("a$b$ <x>&?[2J?.jsonl" in text for text in words(pictures.course(found, "x.svg")))


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_same_findings_same_bytes_in_another_process(kind: str, tmp_path: Path) -> None:
    """Whatever settings file of the library lies about."""
    (tmp_path / "matplotlibrc").write_text("font.size: 30\nsvg.hashsalt: other\n")
    log = str(SESSIONS / "trims.jsonl")
    target = tmp_path / f"costs.{kind}"
    command = [sys.executable, "-m", "nodwyn_tui", "lab", log, "--price", "2,0.2,2.5,10",
               "--cache-model", "kv-slot", "--chart", str(target)]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, timeout=60, check=True, cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (b"", b"")
    here = pictures.costs(folded(LabPolicy(), models=("kv-slot",)), target.name)
    assert target.read_bytes() == here
    assert pictures.costs(folded(LabPolicy(), models=("kv-slot",)), target.name) == here


def test_missing_library_is_named_before_anything_is_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"install nodwyn-tui\[lab\]"):
        pictures.need_pictures("costs.svg")


def test_what_cannot_be_drawn_is_told() -> None:
    with pytest.raises(UsageError, match=r"saved as \.svg or \.png, not as 'costs\.pdf'"):
        pictures.need_pictures("costs.pdf")
    with pytest.raises(UsageError, match="up to 60 policies, not 61"):
        pictures.need_costs(["p"] * 61)
    with pytest.raises(UsageError, match="one log, not of 2"):
        pictures.need_course([Path("a"), Path("b")], ["p"])
    with pytest.raises(UsageError, match="up to 4 policies, not 5"):
        pictures.need_course([Path("a")], ["p"] * 5)
