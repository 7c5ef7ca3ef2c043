"""`nodwyn models`: what there is, entries, one tried out, figures refreshed."""

import base64
import io
import json
import re
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from PIL import Image

from nodwyn_tui.providers.shipped import records_in
from tests.cli.conftest import Done, Nodwyn
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import Say, call, error, say
from tests.fakes.server import FakeServer

ROOT = Path(__file__).parents[2]
NAMES: list[str] = json.loads((ROOT / "tests/cases/files/C73_names.json").read_text("utf-8"))
PICTURE = re.compile(rb"iVBOR[A-Za-z0-9+/=]+")
PRICE = {"input": 1.0, "cached": 0.1, "write": 1.25, "output": 5.0}


def configure(home: Path, server: FakeServer, where: Any = None, **model: Any) -> Path:
    value = {
        "model": "m",
        "servers": {
            "fake": {"provider": server.provider, "base_url": server.base_url, **(where or {})}
        },
        "models": {"m": {"server": "fake", "model": "test-model", **model}},
    }
    file = home / "config.toml"
    file.write_bytes(tomli_w.dumps(value).encode())
    return file


def task(**more: Any) -> list[Say]:
    """What a model that can do everything answers."""
    return [
        call("fs-list", {"path": "."}, thinking="I look.", **more),
        say("marigold", **more),
        say("Red.", **more),
    ]


def findings(done: Done) -> dict[str, tuple[str, str]]:
    value = json.loads(done.stdout)
    return {each["what"]: (each["outcome"], each["detail"]) for each in value["findings"]}


FAKES: dict[str, Callable[[list[Say]], FakeServer]] = {
    "openai": lambda script: ChatServer(script, cache="blocks"),
    "anthropic": AnthropicServer,
    "responses": ResponsesServer,
    "ollama": lambda script: OllamaServer(
        script, capabilities=("completion", "tools", "thinking", "vision")
    ),
}


@pytest.mark.parametrize("kind", FAKES)
def test_a_model_is_tried_as_a_task_would_ask_it(kind: str, home: Path, nodwyn: Nodwyn) -> None:
    """PRV-12: by every protocol: two requests, the second going on from the first, and a picture,
    no violation; the price is told first.
    """
    asks = {"anthropic": "ephemeral", "responses": "ephemeral"}.get(kind, "off")
    with FAKES[kind](task()) as server:
        configure(home, server, cache_control=asks, price=PRICE)
        done = nodwyn("models", "test", "m", "--json")
    assert (done.returncode, server.violations) == (0, []), done.stderr
    assert len(server.bodies) == 3
    assert "3 requests to m with about" in done.stderr
    found = findings(done)
    for what in ("reachable", "authorised", "tools", "thinking", "goes on after a call", "images"):
        assert found[what][0] == "yes", (what, found)
    assert found["cache read"][0] == "yes", found
    if kind == "anthropic":
        assert found["cache written"][0] == "yes"
    if isinstance(server, OllamaServer):  # PRV-7: as a session asks, or the model is loaded anew
        sizes = {body.body["options"]["num_ctx"] for body in server.bodies}
        assert (sizes, server.reloads) == ({32_768}, 0)
    cost = json.loads(done.stdout)["cost_usd"]
    assert 0 < cost < 0.03


def test_a_table_says_the_same(home: Path, nodwyn: Nodwyn) -> None:
    with ChatServer(task(), cache="blocks") as server:
        configure(home, server)
        done = nodwyn("models", "test", "m")
    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["✓", "tools"] in lines
    assert ["cost", "unknown"] in lines
    assert any(line[:3] == ["?", "cache", "written"] for line in lines)


def test_a_refusal_names_the_setting(home: Path, nodwyn: Nodwyn) -> None:
    """C16: reasoning that this server does not take back; found by the second request."""
    with ChatServer(task(), flavour="cerebras") as server:
        configure(home, server)
        done = nodwyn("models", "test", "m", "--json")
    assert done.returncode == 4
    assert findings(done)["goes on after a call"] == ("no", "")
    assert "dialect" in json.loads(done.stdout)["refusal"]
    with ChatServer(task(), flavour="cerebras") as server:
        configure(home, server, dialect="cerebras")
        assert nodwyn("models", "test", "m").returncode == 0
    assert server.violations == []


@pytest.mark.parametrize(
    ("script", "key", "wanted"),
    [
        ([], "secret", {"reachable": "yes", "authorised": "no"}),
        ([error(500, "boom")], "", {"reachable": "yes", "authorised": "yes"}),
        ([say("half", ending="cut")] * 3, "", {"reachable": "yes", "authorised": "yes"}),
        ([say("no tools here"), say("so")], "", {"tools": "no", "goes on after a call": "yes"}),
        ([call("fs-list", '{"path'), say("so")], "", {"tools": "no"}),
        ([say("half", finish="length"), say("so")], "", {"tools": "no", "thinking": "no"}),
    ],
)
def test_what_does_not_work_is_said(
    home: Path, nodwyn: Nodwyn, script: list[Any], key: str, wanted: dict[str, str]
) -> None:
    with ChatServer(script, key=key) as server:
        configure(home, server)
        found = findings(nodwyn("models", "test", "m", "--json"))
    assert {what: found[what][0] for what in wanted} == wanted


@pytest.mark.parametrize("kind", FAKES)
@pytest.mark.parametrize(
    ("answer", "outcome", "words"),
    [
        (error(400, {"error": "image input is not supported"}), "no", "image input is not"),
        (error(404, {"error": "No endpoints found that support image input"}), "no", "No endpoi"),
        (error(500, {"error": "image input is not supported: no mmproj"}), "no", "mmproj"),
        (error(503, {"error": "overloaded"}), "unknown", "overloaded"),
        (say("I see no picture."), "unknown", "its colour was not told"),
    ],
    ids=["400", "404", "500", "503", "blind"],
)
def test_what_comes_of_a_picture_spoils_nothing(
    kind: str, home: Path, nodwyn: Nodwyn, answer: Any, outcome: str, words: str
) -> None:
    """PRV-12: accepted, refused, or not known; the task's outcome stands by itself."""
    with FAKES[kind]([*task()[:2], answer]) as server:
        configure(home, server)
        done = nodwyn("models", "test", "m", "--json")
    found = findings(done)
    assert (done.returncode, server.violations) == (0, []), done.stderr
    assert found["images"][0] == outcome
    assert words in found["images"][1]
    assert found["goes on after a call"][0] == "yes"
    (picture,) = PICTURE.findall(server.bodies[2].content)
    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        assert (image.format, image.size) == ("PNG", (32, 32))
        assert image.convert("RGB").getpixel((31, 31)) == (0xE0, 0x10, 0x10)
    assert len(server.bodies[2].content) < 2_000


def test_a_model_that_thinks_with_a_budget(home: Path, nodwyn: Nodwyn) -> None:
    """PRV-1, PRV-12: the refusal names the setting, and with it all works."""
    with AnthropicServer(task(), thinks=("disabled", "enabled")) as server:
        configure(home, server, cache_control="ephemeral")
        refusal = json.loads(nodwyn("models", "test", "m", "--json").stdout)["refusal"]
        assert 'effort = "4096"' in refusal
        server.violations.clear()
        configure(home, server, cache_control="ephemeral", effort=4096)
        found = findings(nodwyn("models", "test", "m", "--json"))
    assert server.violations == []
    assert {outcome for outcome, _ in found.values()} == {"yes"}
    assert found["thinking"] == ("yes", "readable")


def test_half_a_character_in_signed_thinking_ends_no_trial(home: Path, nodwyn: Nodwyn) -> None:
    """C55: no log would keep that block, so it does not go back."""
    first, *others = task()

    def halved(pieces: list[bytes]) -> list[bytes]:
        return [piece.replace(b"I look.", b"I \\ud83d .") for piece in pieces]

    with AnthropicServer([replace(first, spoil=halved), *others]) as server:
        configure(home, server)
        done = nodwyn("models", "test", "m", "--json")
    assert (done.returncode, server.violations) == (0, [])
    assert findings(done)["thinking"][0] == "yes"


def test_a_model_that_is_said_to_be_blind_is_shown_nothing(home: Path, nodwyn: Nodwyn) -> None:
    """PRV-12: its server's word is taken, and a request saved."""
    entry = {"architecture": {"input_modalities": ["text"]}}
    with ChatServer(task(), entry=entry) as server:
        configure(home, server)
        done = nodwyn("models", "test", "m", "--json")
    assert findings(done)["images"] == ("no", "not tried; by /models architecture")
    assert (len(server.bodies), "2 requests to m" in done.stderr) == (2, True)


WRITES: dict[str, tuple[Any, tuple[str, str]]] = {
    "free": ((0, 900), ("yes", "nothing is counted as written, and so not billed")),
    "none": ((0, 0), ("no", "0 tokens")),
    "billed": ((900, 0), ("yes", "900 tokens")),
    "silent": ((None, 900), ("unknown", "not reported")),
}


@pytest.mark.parametrize("case", WRITES)
def test_what_a_server_says_of_writes_is_told_as_it_is(
    case: str, home: Path, nodwyn: Nodwyn
) -> None:
    """PRV-12: a write that costs nothing is no miss, and silence is not zero."""
    (written, read), wanted = WRITES[case]

    def usage(cached: int) -> dict[str, Any]:
        details = {"cached_tokens": cached, "cache_write_tokens": written}
        return {"prompt_tokens": 1000, "completion_tokens": 9, "prompt_tokens_details": details}

    first, second, last = task()
    script = [replace(first, usage=usage(0)), replace(second, usage=usage(read)), last]
    with ChatServer(script) as server:
        configure(home, server)
        found = findings(nodwyn("models", "test", "m", "--json"))
    assert found["cache written"] == wanted


def test_a_prompt_below_the_caches_minimum_is_no_miss(home: Path, nodwyn: Nodwyn) -> None:
    """PRV-12: where the minimum is known, and the context has no room for more."""
    record = {"host": "127.0.0.1", "id": "*", "cache_min": 99_000, "source": "x"}
    (home / "state").mkdir()
    models = [{**record, "date": "2026-11-29"}]
    (home / "state" / "models.json").write_text(json.dumps({"models": models}))
    with AnthropicServer(task(), minimum=99_000) as server:
        configure(home, server, cache_control="ephemeral", context=16_000)
        found = findings(nodwyn("models", "test", "m", "--json"))
    for what in ("cache written", "cache read"):
        assert found[what][0] == "unknown"
        assert "below the cache's minimum of 99,000" in found[what][1]


def test_a_server_that_is_not_there_is_not_reachable(home: Path, nodwyn: Nodwyn) -> None:
    with ChatServer([]) as server:
        configure(home, server)
    done = nodwyn("models", "test", "m", "--json")
    assert (done.returncode, findings(done)["reachable"][0]) == (4, "no")


def test_a_dear_trial_is_asked_about_first(home: Path, nodwyn: Nodwyn) -> None:
    """PRV-12: nothing is sent meanwhile."""
    with ChatServer(task()) as server:
        configure(home, server, price={"input": 500.0, "output": 500.0})
        done = nodwyn("models", "test", "m")
        assert (done.returncode, server.bodies) == (2, [])
        assert "--yes" in done.stderr
        assert nodwyn("models", "test", "m", "--yes").returncode == 0


def test_a_hosted_models_prompt_is_longer_than_what_its_cache_takes(
    home: Path, nodwyn: Nodwyn
) -> None:
    """PRV-12: by the known minimum of the model; the same padding never twice."""
    record = {
        "host": "127.0.0.1",
        "id": "*",
        "cache_min": 3000,
        "source": "x",
        "date": "2026-11-29",
    }
    (home / "state").mkdir()
    (home / "state" / "models.json").write_text(json.dumps({"models": [record]}))
    with AnthropicServer([*task(), *task()], minimum=3000) as server:
        configure(home, server, cache_control="ephemeral")
        first, second = (findings(nodwyn("models", "test", "m", "--json")) for _ in range(2))
    assert [found["cache written"][0] for found in (first, second)] == ["yes", "yes"]
    assert [read > 0 for _, read in server.reads] == [False, True, False] * 2


def test_the_list_has_every_figure_with_its_source(home: Path, nodwyn: Nodwyn) -> None:
    """PRV-11: of entries and of what servers list; unknown stays unknown."""
    entry = {
        "top_provider": {"context_length": 200_000, "max_completion_tokens": 64_000},
        "pricing": {"prompt": "0.000002", "completion": "0.00001"},
        "supported_parameters": ["tools", "reasoning"],
    }
    with ChatServer([], entry=entry) as server:
        configure(home, server, price=PRICE, max_output=9000)
        done = nodwyn("models", "list", "--json")
        table = nodwyn("models", "list").stdout
    value = {each["name"]: each for each in json.loads(done.stdout)}
    own, listed = value["m"], value["fake/test-model"]
    assert (own["configured"], own["leads"], listed["configured"]) == (True, True, False)
    assert own["context"] == {
        "tokens": 200_000, "from": "/models top_provider.context_length",
    }  # fmt: skip
    assert own["max_output"] == {"tokens": 9000, "from": "config.toml"}
    assert (own["price"]["input"], own["price"]["from"]) == (1.0, "config.toml")
    assert (listed["price"]["output"], listed["price"]["from"]) == (10.0, "/models pricing")
    assert own["abilities"] == {
        "tools": True, "thinking": True, "images": None, "from": "/models supported_parameters",
    }  # fmt: skip
    assert own["cache_min"] == {"tokens": None, "from": None}
    assert "200,000 tokens (/models top_provider.context_length)" in table
    assert table.startswith("* m")
    assert "127.0.0.1:9" in done.stderr  # the local Ollama of the tests, where nobody listens


def test_a_server_that_fails_leaves_what_is_known_without_it(home: Path, nodwyn: Nodwyn) -> None:
    with ChatServer([]) as server:
        configure(home, server, context=5000)
    done = nodwyn("models", "list", "--json", "--server", "fake")
    (only,) = json.loads(done.stdout)
    assert only["context"] == {"tokens": 5000, "from": "config.toml"}
    assert done.stderr.count("cannot connect") == 1
    assert nodwyn("models", "list", "--server", "nowhere").returncode == 2


def test_only_the_server_that_is_named_is_asked(home: Path, nodwyn: Nodwyn) -> None:
    with ChatServer([]) as server:
        file = configure(home, server)
        dead = '[servers.dead]\nprovider = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
        other = '[models.other]\nserver = "dead"\nmodel = "x"\n'
        file.write_text(f"{file.read_text()}\n{dead}{other}")
        done = nodwyn("models", "list", "--json", "--server", "fake")
    assert done.stderr == ""
    assert {model["server"] for model in json.loads(done.stdout)} == {"fake"}


def test_entries_are_added_and_removed_beside_everything_else(home: Path, nodwyn: Nodwyn) -> None:
    """C73: odd names survive; C74: the model that leads stays, unless it is asked for."""
    file = home / "config.toml"
    file.write_text('# mine\nmodel = "ollama/x"  # leads\n')
    for name in NAMES[:4]:
        done = nodwyn(
            "models",
            "add",
            name,
            "--server",
            "ollama",
            "--model",
            f"id of {name}",
            "--context",
            "8",
        )
        assert done.returncode == 0, done.stderr
    value = tomllib.loads(file.read_text("utf-8"))
    assert value["models"] == {
        name: {"server": "ollama", "model": f"id of {name}", "num_ctx": 8} for name in NAMES[:4]
    }
    assert value["model"] == "ollama/x"
    for name in NAMES[:4]:
        assert nodwyn("models", "remove", name).returncode == 0
    assert tomllib.loads(file.read_text("utf-8")).get("models", {}) == {}
    assert "# mine" in file.read_text()
    assert "# leads" in file.read_text()


def test_what_is_added_on_anthropics_protocol_asks_for_its_cache(
    home: Path, nodwyn: Nodwyn
) -> None:
    """PRV-3: in its entry, where the person sees it."""
    done = nodwyn("models", "add", "c", "--server", "anthropic", "--model", "claude-x", "--lead")
    assert done.returncode == 0, done.stderr
    value = tomllib.loads((home / "config.toml").read_text())
    assert value == {
        "model": "c",
        "models": {"c": {"server": "anthropic", "model": "claude-x", "cache_control": "ephemeral"}},
    }
    gone = nodwyn("models", "remove", "c")
    assert "model named it" in gone.stderr
    assert "model" not in tomllib.loads((home / "config.toml").read_text())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("add", "m", "--server", "fake", "--model", "x"), "a model 'm' already"),
        (("add", "n", "--server", "nowhere", "--model", "x"), "no server is called 'nowhere'"),
        (("add", "n", "--server", "fake", "--model", " "), "has a name and an id"),
        (("remove", "n"), "no model is called 'n': m"),
        (("test", "nowhere"), "nowhere"),
        (("refresh", "--server", "nowhere"), "no server is called 'nowhere'"),
        (("refresh", "--server", "fake"), "lists no model of a vendor"),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    home: Path, nodwyn: Nodwyn, options: tuple[str, ...], words: str
) -> None:
    with ChatServer([]) as server:
        file = configure(home, server)
        before = file.read_text()
        done = nodwyn("models", *options)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    assert file.read_text() == before


def test_a_routers_figures_are_taken_over_without_a_key(
    home: Path, nodwyn: Nodwyn, tmp_path: Path
) -> None:
    """PRV-11: what it says of a vendor's own models; nothing of others, no key to it."""
    listed = [
        {"id": "anthropic/claude-x-1.5", "context_length": 777_000},
        {"id": "somebody/else", "context_length": 1},
    ]
    with ChatServer([], key="secret") as server:
        server.listing = lambda request: (200, {"data": listed})  # type: ignore[method-assign]
        where = {"credential": "env:NOBODY_SET_IT"}
        configure(home, server, where)
        done = nodwyn("models", "refresh", "--server", "fake")
        assert done.returncode == 0, done.stderr
        (record,) = records_in((home / "state" / "models.json").read_text())
        assert (record.host, record.id, record.context) == (
            "api.anthropic.com",
            "claude-x-1-5",
            777_000,
        )
        assert not any("authorization" in request.headers for request in server.requests)
        ours = tmp_path / "models.json"
        shutil.copy(ROOT / "nodwyn_tui" / "data" / "models.json", ours)
        count = len(records_in(ours.read_text()))
        for _ in range(2):
            assert (
                nodwyn("models", "refresh", "--server", "fake", "--into", str(ours)).returncode == 0
            )
    assert len(records_in(ours.read_text())) == count + 1
