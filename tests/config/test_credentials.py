"""Keys from where they are kept, fit for a header."""

import secrets
from pathlib import Path

import pytest

from nodwyn_tui.config.credentials import Credentials, clean_key, credential_fault, variable_names
from nodwyn_tui.config.environment import environment_of
from nodwyn_tui.config.schema import ServerSettings
from nodwyn_tui.errors import ConfigError
from tests.fakes.keyring_file import FileRing

KEY = "sk-test-0000"


def server(credential: str) -> ServerSettings:
    return ServerSettings(
        provider="openai", base_url="https://ai.example.com", credential=credential
    )


def credentials(folder: Path, **variables: str) -> Credentials:
    return Credentials(environment_of(variables), folder)


def key_file(path: Path, content: bytes) -> None:
    """A file of the person's alone."""
    path.touch(mode=0o600)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "given",
    [
        KEY + "\n",
        KEY + "\r\n",
        " " + KEY,
        "\t" + KEY + " \n",
        f'"{KEY}"',
        f"'{KEY}'\n",
        "\ufeff" + KEY,
        f"Bearer {KEY}",
        f"bearer  {KEY}\n",
        f'\ufeff"Bearer {KEY}"\r\n',
        f"Bearer '{KEY}'",
    ],
)
async def test_what_stands_around_a_key_is_taken_off(given: str, tmp_path: Path) -> None:
    """C71: by variable and by file."""
    key_file(tmp_path / "key", given.encode())
    by_variable = await credentials(tmp_path, K=given).resolve("s", server("env:K"))
    by_file = await credentials(tmp_path).resolve("s", server("file:key"))
    assert by_variable == by_file == KEY


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("sk-te\u200bst-0000", "character 6 of 13 is U+200B (zero width space)"),
        ("sk-test\n0000", "character 8 of 12 is U+000A (a control character)"),
        ("sk-test 0000", "character 8 of 12 is U+0020 (space)"),
        ("sk\u2013test-0000", "character 3 of 12 is U+2013 (en dash)"),
    ],
)
def test_a_sign_no_header_can_hold_is_named_by_position(given: str, words: str) -> None:
    """C71: without showing the key."""
    with pytest.raises(ConfigError) as caught:
        clean_key(given, "the variable K")
    assert words in str(caught.value)
    assert "the variable K" in str(caught.value)
    assert "test" not in str(caught.value)
    assert "0000" not in str(caught.value)


def test_a_typed_key_is_to_be_given_again() -> None:
    """C71: it has no other place where it could be mended."""
    with pytest.raises(ConfigError, match=r"^this key cannot be used.*; give it again without$"):
        clean_key("sk test")


async def test_a_missing_key_says_what_to_do(tmp_path: Path) -> None:
    keys = credentials(tmp_path, BLANK=" \n")
    key_file(tmp_path / "empty", b"")
    for word, remedy in (
        ("env:NONE", "export NONE="),
        ("env:BLANK", "export BLANK="),
        ("file:none", "the file none holds none; `nodwyn auth set groq` puts one there"),
        ("file:empty", "the file empty holds none; `nodwyn auth set groq` puts one there"),
    ):
        with pytest.raises(ConfigError, match=remedy):
            await keys.resolve("groq", server(word))
    key_file(tmp_path / "binary", b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not text"):
        await keys.resolve("groq", server("file:binary"))


@pytest.mark.parametrize(
    "word", ["plain", "env:", "env: ", "env:a-b", "http://x", "Env:A", "command:pass 'show x"]
)
def test_what_names_no_place_is_refused(word: str) -> None:
    assert credential_fault(word)


async def test_a_command_that_cannot_be_started_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "gone"))
    with pytest.raises(ConfigError, match="cannot be run"):
        await credentials(tmp_path).resolve("s", server("command:true"))


async def test_a_key_in_place_of_its_place_is_never_sent(tmp_path: Path) -> None:
    """SEC-1: also where a record was made without the file's checks."""
    with pytest.raises(ConfigError, match="looks like the key itself") as caught:
        await credentials(tmp_path).resolve("s", server(KEY))
    assert KEY not in str(caught.value)


async def test_a_home_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds none"):
        await credentials(tmp_path).resolve("s", server("file:~no-such-user-here/key"))


async def test_no_credential_is_no_key(tmp_path: Path) -> None:
    assert await credentials(tmp_path).resolve("ollama", server("")) == ""


async def test_a_command_gives_the_key(tmp_path: Path) -> None:
    """Its standard output alone, with the person's own environment."""
    keys = credentials(tmp_path, PATH="/usr/bin:/bin", TAIL="0000")
    script = 'echo careful >&2; echo "Bearer sk-test-$TAIL" | head -1'
    assert await keys.resolve("s", server(f"command:sh -c '{script}'")) == KEY
    assert keys.held() == {KEY}


async def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    """SEC-1: what would be a second command, a file or a variable to a shell is text to it."""
    made = tmp_path / "made"
    keys = credentials(tmp_path, PATH="/usr/bin:/bin", HOME="/nowhere")
    command = f"command:echo a;touch${{IFS}}{made}>{made}|$HOME`id`"
    wanted = f"a;touch${{IFS}}{made}>{made}|$HOME`id`"
    assert await keys.resolve("s", server(command)) == wanted
    assert not made.exists()


async def test_a_program_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its words in quotes."""
    monkeypatch.setenv("HOME", str(tmp_path))
    program = tmp_path / "my key"
    program.write_text('#!/bin/sh\nprintf %s "$1"\n')
    program.chmod(0o700)
    keys = credentials(tmp_path, PATH="/usr/bin:/bin")
    assert await keys.resolve("s", server("command:'~/my key' sk-test-0000")) == KEY


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sh -c 'echo sk-oops; echo sk-oops >&2; exit 3'", "exit code 3; run it by hand"),
        ("true", "make the command print the key"),
        ("no-such-program-sk-oops", "cannot be run: No such file or directory. No shell reads it"),
        ("sleep 30", "within 0 seconds"),
    ],
)
async def test_a_command_that_gives_no_key(
    command: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sleep" in command:
        monkeypatch.setattr("nodwyn_tui.config.credentials.COMMAND_SECONDS", 0.2)
    with pytest.raises(ConfigError, match=words) as caught:
        await credentials(tmp_path, PATH="/usr/bin:/bin").resolve("s", server(f"command:{command}"))
    assert "oops" not in str(caught.value)


@pytest.mark.parametrize(
    "credential", ["env:{}", "file:{}", "keyring:{}", "command:{}", "command:{} x"]
)
async def test_a_key_behind_the_name_of_a_kind_is_not_shown(
    tmp_path: Path, ring: FileRing, credential: str
) -> None:
    """SEC-1: it stands where a place's name belongs."""
    key = f"sk-{secrets.token_hex(20)}".replace("-", "_" if credential.startswith("env") else "-")
    with pytest.raises(ConfigError) as caught:
        await credentials(tmp_path, PATH="/bin").resolve("s", server(credential.format(key)))
    assert key[3:] not in str(caught.value)


async def test_the_keyring_gives_the_key(tmp_path: Path, ring: FileRing) -> None:
    ring.set_password("nodwyn", "mine", KEY)
    keys = credentials(tmp_path)
    assert await keys.resolve("s", server("keyring:mine")) == KEY
    with pytest.raises(ConfigError, match="entry other holds none; `nodwyn auth set s`"):
        await keys.resolve("s", server("keyring:other"))
    with pytest.raises(ConfigError, match="unlock it"):
        await keys.resolve("s", server("keyring:locked"))


async def test_every_key_that_was_seen_is_held_for_redaction(tmp_path: Path) -> None:
    """SEC-1: resolved keys, and those of variables that any server names, used or not."""
    kept, usual, own = (secrets.token_hex(16) for _ in range(3))
    key_file(tmp_path / "key", kept.encode())
    keys = credentials(tmp_path, OPENAI_API_KEY=f"Bearer {usual}\n", OWN=own)
    await keys.resolve("s", server("file:key"))
    held = keys.held([server("env:OWN"), server("keyring:none")])
    assert {kept, usual, f"Bearer {usual}", own} == held
    assert {"OWN", "OPENAI_API_KEY"} < variable_names([server("env: OWN")])
