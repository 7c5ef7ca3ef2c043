"""ENG-6, SEC-1: credentials never reach the log, and nothing else is touched."""

import json
import random
import string
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.domain.canonical import event_line
from nodwyn_tui.domain.events import (
    BudgetBlocked,
    LlmResponse,
    SessionStart,
    ToolCall,
    ToolResult,
    UnknownEvent,
    UserMessage,
)
from nodwyn_tui.domain.parts import Block, Call, Text, Thinking
from nodwyn_tui.domain.recipe import Recipe, WindowLimits
from nodwyn_tui.domain.request import ToolSpec
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.store.redact import Redactor, has_marker, marker
from nodwyn_tui.store.shapes import PHRASES, TOKENS
from tests.fakes.credentials import pem, samples

RNG = random.Random()
SAMPLES = samples(RNG)


@pytest.mark.parametrize("form", SAMPLES)
def test_every_documented_shape_is_replaced(form: str) -> None:
    """SEC-1: each documented shape, drawn many times, in the surroundings where they turn up."""
    redactor = Redactor()
    kind = form.split(maxsplit=1)[0]
    for _ in range(20):
        text, secret = samples(RNG)[form]
        for around in (
            "%s",
            "x=%s\n",
            '{"k": "%s"}',
            "é%s中",
            "Bearer %s, then",
            "a\\n%s",
            "export K='%s';",
        ):
            clean = redactor.text(around % text)
            assert secret not in clean
            assert marker(kind) in clean
            assert clean == around % text.replace(secret, marker(kind))


@pytest.mark.parametrize("form", SAMPLES)
def test_arguments_without_a_credential_are_json_still(form: str) -> None:
    """ENG-6, C28: only the string that holds it changes; a key's end never takes a quote along."""
    text, secret = samples(RNG)[form]
    cut_off = text[: text.rfind("-----END")] if "-----END" in text else text
    for held in (text, cut_off, f"a {text} b"):
        given = (
            '{"n": 1.0,"big":12345678901234567890, "text":' + json.dumps(held) + ',"x":{"y":""}}'
        )
        clean = Redactor().arguments(given)
        assert secret[:40] not in clean
        assert clean.startswith('{"n": 1.0,"big":12345678901234567890, "text":"')
        assert clean.endswith(',"x":{"y":""}}')
        assert has_marker(json.loads(clean)["text"])
        assert Redactor().arguments(clean) == clean


def test_escapes_hide_no_credential_in_arguments() -> None:
    """SEC-1: what the text of the JSON hides is plain to whoever reads the JSON."""
    text, secret = samples(RNG)["github-token"]
    hidden = "".join(f"\\u{ord(char):04x}" for char in text)
    clean = Redactor().arguments(f'{{"command":"echo {hidden}"}}')
    assert secret not in json.loads(clean)["command"]
    cut = Redactor().arguments(f'{{"command":"echo {text}')
    assert secret not in cut


def test_table_has_a_sample_of_every_kind() -> None:
    assert {shape.kind for shape in (*TOKENS, *PHRASES)} == {
        form.split(maxsplit=1)[0] for form in SAMPLES
    }


@pytest.mark.parametrize(
    "text",
    [
        "in-one-word_sk-" + "a1" * 24,
        "ask-the-team-about-it-before-you-go-on-with-this",
        "class='sk-cube-grid-animation-with-a-long-name'",
        "xAKIA" + "A" * 16 + " AKIA" + "A" * 17,
        "ghp_short github_pat_short hf_model_name_with_words npm_config_registry_and_more_words",
        "-----BEGIN CERTIFICATE-----\n" + "A" * 64 + "\n-----END CERTIFICATE-----",
        'if text.startswith("-----BEGIN PRIVATE KEY-----"): return "-----END PRIVATE KEY-----"',
        "secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 20,
        "eyJ is how base64 of a JSON object begins: eyJhIjoxfQ==",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301 sha512-" + "z" * 86 + "==",
        "[redacted:github-token] and secret_access_key = [redacted:aws-secret-key]",
    ],
)
def test_nothing_is_replaced_for_its_look_alone(text: str) -> None:
    """ENG-6: never for entropy, never a word that only begins like a key."""
    assert Redactor().text(text) is text


def test_a_refused_beginning_hides_no_real_one_behind_it() -> None:
    secret, _ = SAMPLES["api-key"]
    assert Redactor().text(f"sk-one:{secret}") == f"sk-one:{marker('api-key')}"
    assert Redactor().text(f"SG.{secret}.") == f"SG.{marker('api-key')}."


def test_private_keys_cut_quoted_and_numbered() -> None:
    redactor = Redactor()
    whole = pem(RNG)
    numbered = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(whole.split("\n"), 1))
    assert redactor.text(whole[:900]) == marker("private-key")
    clean = redactor.text("before\n" + numbered + "after")
    assert clean.startswith("before\n     1\t" + marker("private-key"))
    assert clean.endswith("\nafter")
    assert redactor.text(json.dumps({"k": whole})) == json.dumps({"k": marker("private-key")})


def test_held_keys_are_replaced_wherever_they_stand() -> None:
    """C77: the program's own keys, whatever their shape, also as JSON writes them."""
    redactor = Redactor(["hunter2-hunter2\n", 'with"quote\\and more', "short"])
    assert redactor.text("a hunter2-hunter2b") == "a [redacted:key]b"
    assert redactor.text('{"v":"with\\"quote\\\\and more"}') == '{"v":"[redacted:key]"}'
    assert redactor.text("short") == "short"
    redactor.hold("arrived-later")
    assert redactor.text("it arrived-later.") == "it [redacted:key]."
    shaped, _ = SAMPLES["anthropic-key"]
    assert Redactor([shaped]).text(shaped) == "[redacted:key]"


def test_a_held_value_never_tears_a_marker() -> None:
    redactor = Redactor(["redacted", "redacted:key", "anthropic-key"])
    secret, _ = SAMPLES["anthropic-key"]
    assert redactor.text(f"{secret} redacted") == "[redacted:anthropic-key] redacted"


def test_edge_that_a_marker_makes_is_seen_too() -> None:
    """A held key before a token hides its beginning; once replaced, it no longer does."""
    token, _ = SAMPLES["github-token"]
    redactor = Redactor(["heldheld1"])
    assert redactor.text(f"heldheld1{token}") == "[redacted:key][redacted:github-token]"


PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from([text for text, _ in SAMPLES.values()]),
    st.sampled_from(
        ["held-value-1", "[redacted:", "sk-", "-----BEGIN ", "eyJ", "\ud83d", "\0", "_", '"']
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=6))
def test_redacting_twice_is_redacting_once(pieces: list[str]) -> None:
    redactor = Redactor(["held-value-1"])
    once = redactor.text("".join(pieces))
    assert redactor.text(once) == once
    assert "held-value-1" not in once


def test_markers_are_recognised() -> None:
    assert has_marker("x [redacted:key] y")
    assert not has_marker("[redacted: key] [redacted]")


def test_every_string_of_an_event_is_cleaned_but_ids_and_digests() -> None:
    """ENG-6, ENG-8: recipe, tools, arguments, parts, unknown fields; never what names a thing."""
    secret, _ = SAMPLES["gitlab-token"]
    redactor = Redactor([secret])
    recipe = Recipe(
        version=20,
        system=f"be kind {secret}",
        tools=(ToolSpec("t", secret, {"properties": {secret: {"default": [secret, 1, None]}}}),),
        window=WindowLimits(
            high_water=1, low_water=1, ceiling=1, max_result_tokens=1, output_reserve=1
        ),
        num_ctx=1,
        max_output=1,
        task_header=secret,
    )
    drafts = [
        SessionStart(session="s", workspace=f"/{secret}", app="1", recipe=recipe),
        UserMessage(text=secret, extra={"later": {"deep": [secret]}}),
        LlmResponse(
            req=1,
            finish="calls",
            parts=(
                Thinking(secret),
                Text(f"a\0{secret}\ud83d"),
                Call("c1", "t", f'{{"k":"{secret}"}}'),
            ),
        ),
        ToolCall(resp=3, call_id="c1", name="t", arguments=secret),
        ToolResult(call_id="c1", name="t", text=secret, artifact=secret),
        BudgetBlocked(reason="r", figures={"a": secret}, remedies=(secret,)),
        UnknownEvent(seq=4, kind="x", raw={"seq": 4, "type": "x", "text": secret}),
    ]
    for draft in drafts:
        event, notes = redactor.event(draft)
        line = json.dumps(event_line(event), ensure_ascii=False)
        assert secret not in line
        assert "[redacted:key]" in line
        assert "\\u0000" not in line
        line.encode()
        assert notes == ()
        assert redactor.event(event) == (event, ())
    named = ToolResult(call_id=secret, name="t", text="fine")
    assert redactor.event(named) == (named, ())


def test_figures_that_json_cannot_hold_become_null() -> None:
    """A price or a time of a stranger's making never spoils a line."""
    for figure in (float("nan"), float("inf")):
        reply = LlmResponse(req=1, finish="stop", parts=(), usage=Usage(cost_usd=figure))
        event, _ = Redactor().event(reply)
        assert event == LlmResponse(req=1, finish="stop", parts=())
        event, _ = Redactor().event(BudgetBlocked(reason="r", figures={"a": [figure, 1.5]}))
        assert event == BudgetBlocked(reason="r", figures={"a": [None, 1.5]})


def test_block_is_left_out_rather_than_altered() -> None:
    """ENG-6: the reply keeps its thinking text, and a note says why the block is gone."""
    secret, _ = SAMPLES["openai-key"]
    spoilt = Block("reasoning", "o", json.dumps({"summary": secret}))
    good = Block("reasoning", "o", "gAAAA\u2028" + "x" * 3000)
    reply = LlmResponse(
        ctx=4, req=1, finish="stop", parts=(Thinking("hm"), spoilt, good, Text("ok"))
    )
    event, notes = Redactor().event(reply)
    assert isinstance(event, LlmResponse)
    assert event.parts == (Thinking("hm"), good, Text("ok"))
    assert [(note.ctx, note.why, note.audience) for note in notes] == [(4, "redaction", "person")]
    assert secret not in notes[0].text


def test_random_blobs_are_left_alone() -> None:
    """ENG-6: encrypted reasoning holds a known shape only by chance."""
    redactor = Redactor(["some-held-key"])
    letters = string.ascii_letters + string.digits
    for alphabet in (letters + "+/", letters + "-_"):
        for _ in range(40):
            blob = "".join(RNG.choices(alphabet, k=16_000))
            assert redactor.text(blob) is blob


def test_cost_is_in_proportion_to_the_length() -> None:
    """A text ten times as long costs about ten times as much, whatever it is made of."""
    redactor = Redactor(["some-held-key"])
    redactor.text(SAMPLES["jwt"][0])
    for unit in (
        "sk-ant-x ",
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 40 + " ",
        "eyJ.",
        "a_",
        "SG." + "a" * 21,
    ):
        times = []
        for size in (20_000, 200_000):
            text = unit * (size // len(unit))
            start = time.perf_counter()
            redactor.text(text)
            times.append(time.perf_counter() - start)
        assert times[1] < 60 * times[0] + 0.05, unit


def test_long_arguments_cost_memory_in_their_own_size() -> None:
    """C52: also where escapes have to be looked through."""
    given = json.dumps({"path": "a", "text": "größe 中\n" * 60_000})
    tracemalloc.start()
    assert Redactor(["held-by-this-program"]).arguments(given) == given
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 * len(given)
