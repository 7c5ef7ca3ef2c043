"""What a request comes to, and how that was got."""

import asyncio
import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings

from nodwyn_tui.agent import counting
from nodwyn_tui.agent.counting import FRAME, REQUEST, Counted, Counting, Scale
from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import message_bytes, tool_value, tools_bytes
from nodwyn_tui.domain.parts import Block, Call, Image, Text
from nodwyn_tui.domain.request import AssistantRow, Json, UserRow
from nodwyn_tui.providers.base import Endpoint
from nodwyn_tui.providers.encodings import EncodingName
from nodwyn_tui.providers.provider import Provider
from nodwyn_tui.providers.tokenizers import Tokenizer, load
from nodwyn_tui.system.clock import SystemClock
from nodwyn_tui.window.build import Window, build
from nodwyn_tui.window.rolling import Rolling
from nodwyn_tui.window.sizes import Wanted
from tests.builders import MODEL, LogBuilder
from tests.generated import STEPS, Step, played


@functools.cache
def tokenizer() -> Tokenizer:
    """Loaded once in all tests."""
    found = load("o200k_base")
    assert found is not None
    return found


class Counter:
    """A real tokenizer that knows what it was asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        self.texts.append(text)
        return tokenizer().count(text)


def target(
    model: str = "gpt-5.2", host: str = "api.example.com", provider: str = "openai"
) -> Target:
    endpoint = Endpoint(server="s", provider=provider, base_url=f"https://{host}/v1")
    return Target(
        ref=replace(MODEL, provider=provider, id=model),
        parameters=ev.Parameters(),
        provider=Provider(endpoint, clock=SystemClock()),
        context=3_500,
        context_from="test",
        wanted=Wanted(output_reserve=500),
        strategy="trim",
    )


def never(name: EncodingName) -> Tokenizer:
    pytest.fail(f"{name} was loaded")


def real(name: EncodingName) -> Tokenizer | None:
    assert name == "o200k_base"
    return tokenizer()


def scale(model: str = "gpt-5.2", share: float = 1.0) -> Scale:
    return Counting(real).scale(target(model), share)


def talk() -> LogBuilder:
    log = LogBuilder(high_water=10**6, ceiling=10**6)
    log.user("Read the file, please.")
    return log


def window(log: LogBuilder) -> Window:
    return build(log.events, log.recipe)


def test_a_request_is_its_texts_and_a_margin() -> None:
    """ROL-6, TUI-16."""
    log = talk()
    shown = window(log)
    count = tokenizer().count
    tools = [tool_value(tool) for tool in log.recipe.tools]
    own = count("You help.") + FRAME * 2 + count("The person asks:\n\nRead the file, please.")
    catalogue = scale().prefix("", log.recipe.tools).tokens - REQUEST
    assert catalogue >= count(json.dumps(tools, separators=(",", ":")))
    assert scale().window(shown) == Counted(REQUEST + own + catalogue, "tokenizer")


def test_punctuation_between_strings_counts_a_token_a_byte() -> None:
    """ROL-6: a catalogue of nothing but structure counts as many tokens as it has bytes."""
    log = talk()
    schema: Json = {"": [[[{}, {}, [], None, True, 1.5]], {"": '"\\"\n'}]}
    tool = replace(log.recipe.tools[0], name="", description="", parameters=schema)
    strings = tokenizer().count('"\\"\n') + sum(
        map(tokenizer().count, ("name", "description", "parameters"))
    )
    data = tools_bytes((tool,))
    rest = len(data) - len('"\\"\n') - len("namedescriptionparameters")
    assert scale().prefix("", (tool,)).tokens == REQUEST + strings + rest


def test_an_image_counts_what_its_record_says_and_no_text_is_one() -> None:
    """ROL-6: an allowance only where it truly is an image."""
    log = talk()
    before = scale().window(window(log)).tokens
    log.image(tokens=700)
    image = scale().window(window(log)).tokens - before
    assert 700 <= image <= 700 + 4 * FRAME + tokenizer().count("[image shot.png, data]")
    like = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 400
    looks = UserRow((Text(like),))
    assert scale().row(looks).tokens == 2 * FRAME + tokenizer().count(like)
    part = Image(sha256="ab", mime="image/png", width=9, height=9)
    assert scale().row(UserRow((part,)), pixels=85).tokens == 85 + 2 * FRAME


def test_opaque_reasoning_counts_by_its_size() -> None:
    """What the server opens has other tokens than its seal, which would count three times that."""
    sealed = AssistantRow((Block(block="reasoning", origin="s/m-1", data="gAAAAB" * 500),))
    assert scale().row(sealed).tokens == 1_000 + 2 * FRAME


def test_special_tokens_are_text() -> None:
    """ROL-6."""
    said = UserRow((Text("<|endoftext|>" * 10),))
    assert scale().row(said).tokens == 2 * FRAME + tokenizer().count("<|endoftext|>" * 10) > 70


def test_where_no_tokenizer_is_known_it_is_the_estimate() -> None:
    """PRV-7: set right by what the server counted; rounded up, so that the ceiling is kept."""
    log = talk()
    shown = window(log)
    other = Counting(never).scale(target("claude-opus-5-5"), 1.5)
    assert other.window(shown) == Counted(-(-shown.estimate * 3 // 2), "estimate")
    assert other.over(shown, int(shown.estimate * 1.5) - 1) == other.window(shown)
    assert other.over(shown, -(-shown.estimate * 3 // 2)) is None
    assert other.line(shown, 3_000) == 2_000
    local = Counting(never).scale(target("gpt-4", host="127.0.0.1"), 1.0)
    assert local.window(shown).how == "estimate"


def test_nothing_is_loaded_where_as_many_tokens_as_bytes_fit() -> None:
    """PERF-1: the common case loads no tokenizer."""
    log = talk()
    log.image(tokens=700)
    shown = window(log)
    quick = Counting(never).scale(target(), 1.0)
    most = shown.trail[-1].end + 700 + REQUEST + len(shown.entries) + 3
    assert quick.over(shown, most) is None
    assert quick.surely_fits(shown, most)
    asyncio.run(quick.prepare(shown, most))


def test_over_tells_what_it_comes_to() -> None:
    log = talk()
    log.user("word " * 4_000)
    shown = window(log)
    counted = scale().window(shown)
    assert scale().over(shown, counted.tokens) is None
    assert scale().over(shown, counted.tokens - 1) == counted
    assert counted.tokens < shown.estimate
    line = scale().line(shown, counted.tokens // 2)
    assert shown.estimate // 2 - 2 <= line <= shown.estimate // 2


def test_counting_again_counts_only_what_is_new() -> None:
    """PERF-4: a step costs what it adds; a window that was trimmed costs nothing."""
    log, counter = talk(), Counter()
    rolling = Rolling()
    for event in log.events:
        rolling.feed(event)
    measure = Counting(lambda name: counter).scale(target(), 1.0)
    first = measure.window(rolling.window(log.recipe))
    counter.texts.clear()
    assert measure.window(rolling.window(log.recipe)) == first
    assert measure.window(window(log)) == first
    assert counter.texts == []
    rolling.feed(log.user("and another"))
    measure.window(rolling.window(log.recipe))
    assert counter.texts == ["The person asks:\n\nand another"]


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not asked for in a while is forgotten, and counts the same when it comes again."""
    monkeypatch.setattr(counting, "HELD", 600)
    measure = scale()
    rows = [UserRow((Text(f"{number} " * 40),)) for number in range(30)]
    counted = [measure.row(row) for row in rows]
    assert [measure.row(row) for row in rows] == counted
    ruler = measure.ruler("o200k_base")
    assert (
        0
        < sum(map(len, (*ruler._recent, *ruler._older)))
        <= 2 * (600 + len(message_bytes(rows[-1])))
    )


def test_a_tokenizer_that_cannot_be_had_counts_bytes() -> None:
    """ROL-6: fails closed, and says so."""
    row = UserRow((Text("文字"),))
    measure = Counting(lambda name: None).scale(target(), 1.0)
    assert measure.row(row) == Counted(6 + 2 * FRAME, "bytes")
    shown = window(talk())
    assert measure.window(shown).tokens > scale().window(shown).tokens


async def test_preparing_counts_in_a_thread() -> None:
    """What `over` needs is there then."""
    log, counter = talk(), Counter()
    measure = Counting(lambda name: counter).scale(target(), 1.0)
    shown = window(log)
    await measure.prepare(shown, 1)
    assert counter.texts
    counter.texts.clear()
    assert measure.over(shown, 1) is not None
    assert counter.texts == []


SAYS_NOTHING = {"role", "type", "model", "image_url", "detail", "phase"}


def strings(value: Json, key: str = "") -> Iterator[str]:
    """The texts of a body as it is sent, without the words of the protocol and the pixels."""
    match value:
        case str():
            yield from () if key in SAYS_NOTHING else (value,)
        case Mapping():
            for name, item in value.items():
                yield from strings(item, name)
        case list() | tuple():
            for item in value:
                yield from strings(item, key)


@settings(deadline=None, max_examples=40)
@given(steps=STEPS)
def test_no_request_counts_less_than_what_is_sent_of_it(steps: list[Step]) -> None:
    """ROL-6: for whole sessions and both protocols of OpenAI: never under the texts of the body as
    it is sent, never over what is known at a glance.
    """
    measure = scale()
    targets = [target(provider=name) for name in ("openai", "responses")]
    for _, shown in played(steps).windows[-3:]:
        counted = measure.window(shown).tokens
        assert counted <= counting._most(shown)
        for asked in targets:
            wire = asked.provider.encode(
                shown.request, asked.ref, asked.parameters, lambda image: b"pixels"
            )
            sent = sum(map(tokenizer().count, strings(json.loads(wire.content()))))
            assert counted >= sent


@pytest.mark.parametrize("arguments", ["{}", "", '{"a": "\\n"}', 'not "json"\n\n', '["x"]'])
def test_arguments_count_as_they_are_sent(arguments: str) -> None:
    """What is no object is sent as the text of one, with its escapes."""
    log = talk()
    before = scale().window(window(log)).tokens
    log.reply("", Call(id="call1", name="fs-read", arguments=arguments))
    shown = window(log)
    assert scale().window(shown).tokens - before <= counting._most(shown)
    asked = target()
    wire = asked.provider.encode(shown.request, asked.ref, asked.parameters)
    sent = sum(map(tokenizer().count, strings(json.loads(wire.content()))))
    assert scale().window(shown).tokens >= sent
