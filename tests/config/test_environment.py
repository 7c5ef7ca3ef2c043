"""What the environment says, and what of it a tool's child sees."""

import secrets

import pytest

from nodwyn_tui.config.environment import (
    KEY_VARIABLES,
    environment_of,
    ollama_url,
    read_environment,
)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("http://0.0.0.0:8080/", "http://127.0.0.1:8080"),
        ("[::]:11434", "http://[::1]:11434"),
        ("::", "http://[::1]:11434"),
        ("[::]", "http://[::1]:11434"),
        ("fe80::2", "http://[fe80::2]:11434"),
        ("[fd00::2]:80", "http://[fd00::2]:80"),
        ("example.lan", "http://example.lan:11434"),
        ("http://example.lan", "http://example.lan:80"),
        ("https://ai.example.lan", "https://ai.example.lan:443"),
        ("HTTPS://ai.example.lan/base/", "https://ai.example.lan:443/base"),
        (":11500", "http://127.0.0.1:11500"),
        ("example.lan:many", "http://example.lan:11434"),
        ("example.lan:70000", "http://example.lan:11434"),
        ("", ""),
        (" \n", ""),
        (" 127.0.0.1:11434 \n", "http://127.0.0.1:11434"),
        ('"127.0.0.1"', "http://127.0.0.1:11434"),
    ],
)
def test_ollama_host_is_a_target(host: str, url: str) -> None:
    """C69, PRV-7: an address to listen on becomes the loopback; scheme and port are filled in."""
    assert ollama_url(host) == url
    assert environment_of({"OLLAMA_HOST": host}).ollama_url == url


def test_proxies_count_in_both_cases() -> None:
    """PRV-13."""
    proxies = environment_of(
        {
            "HTTPS_PROXY": "http://upper:1",
            "https_proxy": "http://lower:2",
            "HTTP_PROXY": " http://upper:3 ",
            "all_proxy": "socks5://any:4",
            "NO_PROXY": "192.168.0.0/16,.lan",
        }
    ).proxies
    assert proxies.https == "http://lower:2"
    assert proxies.http == "http://upper:3"
    assert proxies.all == "socks5://any:4"
    assert proxies.no_proxy == "192.168.0.0/16,.lan"


def test_an_empty_no_color_is_unset() -> None:
    assert not environment_of({"NO_COLOR": ""}).no_color
    assert environment_of({"NO_COLOR": "1"}).no_color


def test_children_get_no_key() -> None:
    """SEC-1, C77: neither by the variable's name nor by its value."""
    key = secrets.token_hex(20)
    variables = {name: secrets.token_hex(9) for group in KEY_VARIABLES.values() for name in group}
    environment = environment_of(
        variables
        | {
            "PATH": "/bin",
            "MY_KEY": secrets.token_hex(9),
            "COPY": f"x{key}y",
            "EMPTY": "",
            "SHORT": "abc",
        }
    )
    assert environment.for_children({"MY_KEY"}, {key, "abc", ""}) == {
        "PATH": "/bin",
        "EMPTY": "",
        "SHORT": "abc",
    }


def test_repr_shows_no_variable() -> None:
    """SEC-1: an environment in a crash report gives nothing away."""
    key = secrets.token_hex(20)
    assert key not in repr(environment_of({"OPENAI_API_KEY": key}))


def test_this_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODWYN_HOME", "/somewhere")
    environment = read_environment()
    assert environment.home == "/somewhere"
    assert environment.get("NODWYN_HOME") == "/somewhere"
    assert environment.get("NODWYN_NO_SUCH_VARIABLE") == ""
