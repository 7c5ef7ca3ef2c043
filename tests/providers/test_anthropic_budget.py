"""Thinking with a budget of tokens, for models that take no adaptive thinking (PRV-1, C14)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from nodwyn_tui.domain.parts import Block, Call, Text
from nodwyn_tui.domain.request import AssistantRow, Message, Request
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.anthropic import BINDING_BETA, Anthropic
from nodwyn_tui.providers.base import WireRequest
from tests.fakes.anthropic_rules import anthropic_problems
from tests.providers.samples import conversation, model, parameters, reply, request, result, user

VERSION = {"anthropic-version": "2026-10-21"}
CALL, SECOND = Call("c1", "fs-read", "{}"), Call("c2", "fs-read", "{}")
SIGNED = Block(
    "thinking",
    "fake/test-model",
    json.dumps({"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
)


def encode(what: Request, effort: str = "4096", room: int = 8192, **more: Any) -> WireRequest:
    settings = parameters(effort=effort, **{"keep_reasoning": True, **more})
    return Anthropic().encode(replace(what, max_output=room), model("anthropic"), settings)


def thinking(wire: WireRequest) -> Any:
    return wire.body["thinking"]


def problems(wire: WireRequest) -> list[str]:
    return list(anthropic_problems(json.loads(wire.content()), {**VERSION, **wire.headers}))


def loop(*first: Any, then: tuple[Message, ...] = ()) -> Request:
    return request(user("hi"), AssistantRow((*first, CALL)), result(CALL, "x"), *then)


def test_a_number_is_a_budget() -> None:
    """PRV-16: its text is asked for; nothing else is said of effort."""
    wire = encode(conversation())
    assert thinking(wire) == {
        "type": "enabled",
        "budget_tokens": 4096,
        "display": "summarized",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    assert "output_config" not in wire.body
    assert wire.headers["anthropic-beta"] == BINDING_BETA
    assert problems(wire) == []
    assert "block_binding" not in thinking(encode(conversation(), keep_reasoning=False))


@pytest.mark.parametrize(
    ("room", "wanted"),
    [
        (8192, {"budget_tokens": 4096}),
        (4096, {"budget_tokens": 3072}),
        (2048, {"budget_tokens": 1024}),
        (2047, {"type": "disabled"}),
    ],
)
def test_a_budget_leaves_room_for_the_answer(room: int, wanted: dict[str, Any]) -> None:
    """It is part of the reply's tokens: never all of them."""
    wire = encode(conversation(), room=room)
    assert wanted.items() <= thinking(wire).items()
    assert problems(wire) == []


def test_every_request_of_a_session_asks_the_same() -> None:
    """PRV-5: another ask would miss the cache. Later replies of a loop need not think."""
    asks = [
        encode(request(user("hi"))),
        encode(loop(SIGNED)),
        encode(loop(SIGNED, then=(reply("", "", SECOND), result(SECOND, "y")))),
        encode(loop(SIGNED, then=(user("wait"), reply("", "", SECOND), result(SECOND, "y")))),
        encode(loop(SIGNED, then=(reply("done"), user("and?")))),
    ]
    assert [thinking(ask) for ask in asks] == [thinking(asks[0])] * len(asks)
    assert [problem for ask in asks for problem in problems(ask)] == []


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(loop(), id="switched on in mid-loop"),
        pytest.param(loop(Text("I look."), SIGNED), id="began with text"),
        pytest.param(loop(replace(SIGNED, origin="other/model")), id="another model's"),
        pytest.param(
            loop(then=(AssistantRow((SIGNED, SECOND)), result(SECOND, "y"))),
            id="the first reply's is gone",
        ),
    ],
)
def test_a_loop_that_did_not_begin_with_thinking_goes_on_without(what: Request) -> None:
    """C14: for that request; the next message of the person's has it again."""
    wire = encode(what)
    assert thinking(wire) == {"type": "disabled"}
    assert "anthropic-beta" not in wire.headers
    assert problems(wire) == []
    goes_on = replace(what, messages=(*what.messages, reply("done"), user("and?")))
    assert thinking(encode(goes_on))["type"] == "enabled"
    assert problems(encode(goes_on)) == []


@pytest.mark.parametrize(
    ("effort", "words", "setting"),
    [
        (
            "4096",
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"'
            ' and "output_config.effort" to control thinking behavior.',
            'effort = "low"',
        ),
        ("4096", "thinking.enabled.budget_tokens: Extra inputs are not permitted", "a number"),
        ("4096", "thinking.block_binding: Extra inputs are not permitted", "keep_reasoning"),
        ("4096", "max_tokens: 64001 > 64000, which is the maximum", "max_output"),
        ("high", "adaptive thinking is not supported on this model", 'effort = "4096"'),
    ],
)
def test_a_refusal_names_the_setting(effort: str, words: str, setting: str) -> None:
    """PRV-9: the way from one kind of thinking to the other, both ways."""
    wire = encode(conversation(), effort=effort)
    error = ProviderError("invalid_request", words, status=400)
    assert setting in Anthropic().remedy(error, wire)
