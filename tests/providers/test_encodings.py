"""Which models have an encoding that is known."""

import pytest
from tiktoken import model as tiktoken_model

from nodwyn_tui.providers.encodings import encoding_for


@pytest.mark.parametrize("name", sorted(tiktoken_model.MODEL_TO_ENCODING))
def test_chat_models_have_the_encoding_that_tiktoken_names(name: str) -> None:
    """ROL-6. What was never a chat model is never asked, and has none here."""
    named = tiktoken_model.MODEL_TO_ENCODING[name]
    chat = name.startswith(("gpt-3", "gpt-4", "gpt-5", "o1", "o3", "o4"))
    assert encoding_for(name, local=False) == (named if chat else None)


@pytest.mark.parametrize("start", sorted(tiktoken_model.MODEL_PREFIX_TO_ENCODING))
def test_versions_of_them_too(start: str) -> None:
    named = tiktoken_model.MODEL_PREFIX_TO_ENCODING[start].replace("_harmony", "_base")
    if start not in {"ft:davinci-002", "ft:babbage-002"}:
        assert encoding_for(f"{start.rstrip('-')}-2026-01-01", local=False) == named


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-5.2", "o200k_base"),
        ("openai/gpt-5.2", "o200k_base"),
        ("openai/gpt-5.2-codex", "o200k_base"),
        ("openrouter/openai/gpt-4.1-mini", "o200k_base"),
        ("OpenAI/GPT-4o", "o200k_base"),
        ("openai/o3:floor", "o200k_base"),
        ("ft:gpt-4.1-mini-2025-04-14:us::1", "o200k_base"),
        ("openai/gpt-4", "cl100k_base"),
        ("gpt-oss:20b", "o200k_base"),
        ("openai/gpt-oss-120b:free", "o200k_base"),
        ("someone/gpt-oss-20b-gguf", "o200k_base"),
        ("anthropic/claude-opus-5-5", None),
        ("qwen/o1-like", None),
        ("gpt-4all", None),
        ("o1x", None),
        ("gpt-neox-20b", None),
        ("", None),
        ("openai/", None),
    ],
)
def test_ids_with_a_vendor_and_a_variant(model: str, encoding: str | None) -> None:
    assert encoding_for(model, local=False) == encoding


def test_a_local_server_may_call_anything_by_a_closed_models_name() -> None:
    """Open weights are what they are called."""
    assert encoding_for("gpt-4", local=True) is None
    assert encoding_for("openai/gpt-5.2", local=True) is None
    assert encoding_for("gpt-oss:20b", local=True) == "o200k_base"
