"""What a `config.toml` gives, and what is said about bad entries."""

import secrets
import tempfile
from pathlib import Path

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.config.allowed import allowed, known_keys
from nodwyn_tui.config.environment import environment_of
from nodwyn_tui.config.files import LARGEST_FILE, Loaded, load_settings
from nodwyn_tui.domain.words import STRATEGIES
from nodwyn_tui.errors import ConfigError

CASES = Path(__file__).parent.parent / "cases" / "files"
NOTHING = environment_of({})


def load(tmp_path: Path, text: str | bytes) -> Loaded:
    file = tmp_path / "config.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_settings(file, NOTHING)


def only(loaded: Loaded) -> ConfigError:
    (problem,) = loaded.problems
    return problem.error


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    loaded = load_settings(tmp_path / "none.toml", NOTHING)
    assert loaded.problems == ()
    assert loaded.settings.mode == "ask"
    assert loaded.servers["ollama"].base_url == "http://127.0.0.1:11434"


def test_a_file_that_was_asked_for_must_exist(tmp_path: Path) -> None:
    loaded = load_settings(tmp_path / "none.toml", NOTHING, must_exist=True)
    assert "none.toml" in str(only(loaded))
    assert "no such file" in str(only(loaded))


def test_valid_toml_with_wrong_content_is_used_as_far_as_it_goes() -> None:
    """C72: each bad entry is told once, with its line."""
    loaded = load_settings(CASES / "C72_wrong_content.toml", NOTHING)
    told = {problem.error.key: problem for problem in loaded.problems}
    assert told.keys() == {
        "window",
        "temperature",
        "high_water",
        "low_water",
        "max_reply",
        "providers",
    }
    assert {key for key, problem in told.items() if not problem.warning} == {"window"}
    assert told["window"].error.line == 1
    assert told["window"].error.found == "'large'"
    assert told["window"].error.allowed == "a table"
    assert told["providers"].error.line == 7
    assert "[window]" in told["high_water"].text
    assert loaded.settings.window.output_reserve == 8192


KEYED = [
    ('mode = "fast"', 1, "mode", "'fast'", "plan | ask | edits | auto"),
    ("\n[window]\nlow_water = -5", 3, "window.low_water", "-5", "a whole number above 0"),
    ("[window]\nhigh_water = 0.5", 2, "window.high_water", "0.5", "a whole number above 0"),
    ("[window]\nhigh_water = true", 2, "window.high_water", "true", "a whole number above 0"),
    ("[window]\nthreshold = nan", 2, "window.threshold", "nan", "a number above 0, 2 at most"),
    ("[window]\nthreshold = 70", 2, "window.threshold", "70", "a number above 0, 2 at most"),
    ("[ui]\ntheme = [\n1,\n2]\n", 2, "ui.theme", "a list", "text"),
    ("ui.theme = 3", 1, "ui.theme", "3", "text"),
    ('models = "all"', 1, "models", "'all'", "a table"),
    ('[models]\n"a.b" = 3', 2, 'models."a.b"', "3", "a table"),
    ("[[servers]]\nprovider = 3", 1, "servers", "a list", "a table"),
    ('[approvals]\nallow = "all"', 2, "approvals.allow", "'all'", "a list of texts"),
    ("[approvals]\nallow = [1]", 2, "approvals.allow", "1", '"TOOL: GLOB" in a list'),
    ('[approvals]\nallow = ["all"]', 2, "approvals.allow", "'all'", '"TOOL: GLOB" in a list'),
    ('model = "gone"', 1, "model", "'gone'", "SERVER/ID"),
    ('fallback = "gone"', 1, "fallback", "'gone'", "SERVER/ID"),
]


@pytest.mark.parametrize(("text", "line", "key", "found", "allowed"), KEYED)
def test_a_bad_entry_names_its_place(
    tmp_path: Path, text: str, line: int, key: str, found: str, allowed: str
) -> None:
    """C72: file, line, key, what was found and what is allowed."""
    loaded = load(tmp_path, text)
    error = only(loaded)
    assert (error.line, error.key, error.found, error.allowed) == (line, key, found, allowed)
    assert error.file == str(tmp_path / "config.toml")
    assert loaded.errors == (error,)
    assert loaded.settings == type(loaded.settings)()


SERVER = '[servers.mine]\nprovider = "openai"\nbase_url = "https://ai.example.com/v1"\n'
MODEL = '[models.m]\nserver = "mine"\nmodel = "x"\n'
GPT = '[models.m]\nserver = "openai"\nmodel = "x"\n'


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ('[models.m]\nserver = "mine"\nmodel = "x"', "models.m", "'mine' is not known"),
        ('[models.m]\nmodel = "x"', "models.m", "has no server"),
        ('[models.m]\nserver = "ollama"', "models.m", "has no model"),
        ('[servers.mine]\nprovider = "openai"', "servers.mine", "has no base_url"),
        (SERVER + MODEL + "low_water = 9\nhigh_water = 9", "models.m.low_water", "out of order"),
        ("[window]\nhigh_water = 5\nlow_water = 9", "window.low_water", "out of order"),
        (SERVER + MODEL + "high_water = 9\ncontext = 8", "models.m.high_water", "beyond"),
        (SERVER + 'cache_key_header = "a b"', "servers.mine.cache_key_header", "header"),
        (SERVER + 'cache_key_header = "Authorization"', "servers.mine.cache_key_header", "already"),
        (SERVER + '[models.m]\nserver = "mine"\nmodel = " "', "models.m.model", "blank"),
        (SERVER + "timeouts = { idle = 0 }", "servers.mine.timeouts.idle", "wrong kind"),
        (SERVER + MODEL + "price = { input = -1 }", "models.m.price.input", "wrong kind"),
        (SERVER + MODEL + 'keep_reasoning = "some"', "models.m.keep_reasoning", "wrong kind"),
        (SERVER + MODEL + "effort = 1000", "models.m.effort", "too few tokens"),
        (SERVER + MODEL + 'effort = "-1"', "models.m.effort", "too few tokens"),
        (SERVER + MODEL + "effort = true", "models.m.effort", "wrong kind"),
    ],
)
def test_a_cross_check_names_its_place(tmp_path: Path, text: str, key: str, words: str) -> None:
    error = only(load(tmp_path, text))
    assert error.key == key
    assert words in error.message


def test_a_key_that_is_nearly_right_is_recognised(tmp_path: Path) -> None:
    """Unknown keys warn, and stay in the file."""
    (problem,) = load(tmp_path, "[window]\nhigh_watr = 3\n").problems
    assert problem.warning
    assert problem.error.line == 2
    assert "did you mean high_water?" in problem.text
    assert load(tmp_path, "[window]\nhigh_watr = 3\n").errors == ()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_is_taken(tmp_path: Path, strategy: str) -> None:
    assert load(tmp_path, SERVER + MODEL + f'strategy = "{strategy}"\n').problems == ()
    assert load(tmp_path, f'[window]\nstrategy = "{strategy}"\n').problems == ()


@pytest.mark.parametrize(
    ("setting", "on", "idle"),
    [
        ('keep_reasoning = "latest"', "anthropic", "openai"),
        ('cache_control = "1h"', "anthropic", "responses"),
        ('cache_control = "12h"', "responses", "anthropic"),
        ('cache_control = "ephemeral"', "openai", "ollama"),
    ],
)
def test_what_has_no_effect_on_its_server_is_said(
    tmp_path: Path, setting: str, on: str, idle: str
) -> None:
    """PRV-3, PRV-5: a protocol has no place for it."""
    for provider in (on, idle):
        text = SERVER.replace('"openai"', f'"{provider}"') + MODEL + setting + "\n"
        problems = load(tmp_path, text).problems
        words = f"has no effect on a server that speaks {idle}"
        assert [words in problem.text for problem in problems] == [True] * (provider == idle)
        assert all(problem.warning for problem in problems)


def test_a_version_is_for_a_protocol_that_has_versions(tmp_path: Path) -> None:
    """PRV-16."""
    text = SERVER + 'api_version = "2023-06-01"\n'
    (problem,) = load(tmp_path, text).problems
    assert problem.error.key == "servers.mine.api_version"
    assert load(tmp_path, text.replace('"openai"', '"anthropic"')).problems == ()


def test_a_bad_key_costs_its_entry_nothing_else(tmp_path: Path) -> None:
    loaded = load(tmp_path, SERVER + MODEL + 'num_ctx = "big"\neffort = "high"\n')
    assert only(loaded).key == "models.m.num_ctx"
    assert loaded.settings.models["m"].num_ctx is None
    assert loaded.settings.models["m"].effort == "high"


def test_several_faults_are_told_in_the_order_of_the_file(tmp_path: Path) -> None:
    loaded = load(tmp_path, 'mode = "x"\n[ui]\ntheme = 3\ncolour = 1\n[models.m]\nserver = 3\n')
    assert [(p.error.line, p.error.key, p.warning) for p in loaded.problems] == [
        (1, "mode", False),
        (3, "ui.theme", False),
        (4, "ui.colour", True),
        (5, "models.m", False),
        (6, "models.m.server", False),
    ]


def test_a_model_of_a_server_that_was_left_out_goes_with_it(tmp_path: Path) -> None:
    """Requests never go to another place than the file says."""
    loaded = load(
        tmp_path,
        'model = "m"\n[servers.openrouter]\nbase_url = "ftp://gateway"\n'
        '[models.m]\nserver = "openrouter"\nmodel = "x"\n',
    )
    assert [problem.error.key for problem in loaded.problems] == [
        "model",
        "servers.openrouter.base_url",
        "models.m",
    ]
    assert "openrouter" not in loaded.servers
    assert loaded.settings.model == ""


@pytest.mark.parametrize(
    ("address", "fine"),
    [
        ("http://127.0.0.1:11434", True),
        ("http://[::1]:1", True),
        ("http://localhost", True),
        ("http://192.168.1.20:8000", True),
        ("http://gpu-box:8000", True),
        ("http://gpu.lan", True),
        ("http://[fd00::1]", True),
        ("http://[::ffff:10.0.0.1]", True),
        ("https://ai.example.com", True),
        ("http://ai.example.com", False),
        ("http://8.8.8.8", False),
        ("http://[2001:4860:4860::8888]", False),
        ("ai.example.com", False),
        ("https://", False),
        ("https://a b", False),
        ("https://ai.example.com:port", False),
        ("https://ai.example.com?key=1", False),
        ("https://[", False),
    ],
)
def test_which_addresses_may_be_used(tmp_path: Path, address: str, fine: bool) -> None:
    """PRV-13: http only to this machine and the local network."""
    text = f'[servers.mine]\nprovider = "openai"\nbase_url = "{address}"\n'
    assert (load(tmp_path, text).problems == ()) is fine
    asked = load(tmp_path, text + "insecure = true\n")
    assert (asked.problems == ()) is (
        fine
        or address in ("http://ai.example.com", "http://8.8.8.8", "http://[2001:4860:4860::8888]")
    )


def test_a_key_in_the_file_is_refused_and_never_shown(tmp_path: Path) -> None:
    """SEC-1: under every name and shape that people try."""
    key = "sk-" + secrets.token_hex(24)
    for entry in (
        f'credential = "{key}"',
        f'credential = "env:{key}"',
        f'credential = ["{key}"]',
        f'api_key = "{key}"',
        f'base_url = "https://me:{key}@ai.example.com"',
        f'cache_key_header = "Bearer {key}"',
        f'auth = "{key}"',
        f'insecure = "{key}"',
    ):
        text = '[servers.mine]\nprovider = "openai"\n' + entry + "\n"
        if "base_url" not in entry:
            text += 'base_url = "https://ai.example.com"\n'
        error = only(load(tmp_path, text))
        assert key not in str(error)
        assert key not in repr(error)


@pytest.mark.parametrize("word", ["env:A_KEY", "keyring:mine", "file:~/key", "command:pass ai"])
def test_a_place_of_a_key_is_fine(tmp_path: Path, word: str) -> None:
    loaded = load(tmp_path, SERVER + f'credential = "{word}"')
    assert loaded.problems == ()
    assert loaded.servers["mine"].credential == word


@pytest.mark.parametrize(
    "line",
    [
        "model = ",
        "model",
        "[servers.x",
        'model = "a',
        "model = [1,",
        'model = """a',
        "a = 1 b",
        "a = {",
        "= 3",
    ],
)
def test_what_is_not_toml_names_the_line(tmp_path: Path, line: str) -> None:
    """An error in line 12 is told of line 12, and the defaults are used."""
    text = 'mode = "auto"\n' + "# filler\n" * 10 + line + '\n[ui]\ntheme = "x"\n'
    loaded = load(tmp_path, text)
    assert only(loaded).line == 12
    assert loaded.settings.mode == "ask"


def test_a_key_given_twice_names_the_second_one(tmp_path: Path) -> None:
    assert only(load(tmp_path, 'mode = "ask"\n\nmode = "ask"\n')).line == 3


def test_what_is_not_text_names_the_line(tmp_path: Path) -> None:
    assert only(load(tmp_path, b'mode = "ask"\n# \xff\n')).line == 2


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    loaded = load(tmp_path, b'\xef\xbb\xbfmode = "plan"\r\n[ui]\r\ntheme = 3\r\n')
    assert loaded.settings.mode == "plan"
    assert only(loaded).line == 3


def test_a_folder_or_a_huge_file_is_a_problem(tmp_path: Path) -> None:
    assert "cannot be read" in str(only(load_settings(tmp_path, NOTHING)))
    assert "larger" in str(only(load(tmp_path, b"#" * (LARGEST_FILE + 1))))


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 5000, "a = " + "9" * 5000, "[" + "a." * 3000 + "a]"],
    ids=["nested lists", "a long number", "a deep table"],
)
def test_absurd_files_are_a_problem(tmp_path: Path, text: str) -> None:
    assert len(load(tmp_path, text).problems) == 1


def test_a_well_known_server_needs_only_what_differs(tmp_path: Path) -> None:
    loaded = load(tmp_path, '[servers.openrouter]\ncache_key_header = "x-key"\n')
    assert loaded.problems == ()
    server = loaded.servers["openrouter"]
    assert server.base_url == "https://openrouter.ai/api/v1"
    assert server.credential == "env:OPENROUTER_API_KEY"


@pytest.mark.parametrize(("name", "header"), [("mistral", "x-affinity"), ("xai", "x-grok-conv-id")])
def test_a_server_that_names_the_session_in_its_own_way(
    tmp_path: Path, name: str, header: str
) -> None:
    """PRV-4: known for these, and the person's word outranks it."""
    assert load(tmp_path, "").servers[name].cache_key_header == header
    assert load(tmp_path, "").servers["groq"].cache_key_header == ""
    mine = load(tmp_path, f'[servers.{name}]\ncache_key_header = ""\n').servers[name]
    assert mine.cache_key_header == ""


def test_a_well_known_name_with_another_protocol_is_a_server_of_its_own(tmp_path: Path) -> None:
    text = '[servers.groq]\nprovider = "ollama"\nbase_url = "http://127.0.0.1:9"\n'
    server = load(tmp_path, text).servers["groq"]
    assert (server.provider, server.credential) == ("ollama", "")
    error = only(load(tmp_path, '[servers.groq]\nprovider = "ollama"\n'))
    assert "has no base_url" in error.message


def test_lines_are_found_among_long_values(tmp_path: Path) -> None:
    """A value over many lines, a string with brackets, a comment between: the lines are right."""
    text = (
        '[approvals]\nallow = [\n  "shell: a]b",  # [c]\n\n  "shell: d",\n]\n'
        '[window]\ntask_header = """\nx = 1\n]"""\nfresh = "no"\n'
    )
    assert only(load(tmp_path, text)).line == 11
    endless = "allow = [\n" + '"shell: a]",\n' * 300 + "]\n"
    error = only(load(tmp_path, "mode = 3\n[approvals]\n" + endless))
    assert (error.key, error.line) == ("mode", 1)


def test_the_usual_key_goes_to_the_usual_address_only(tmp_path: Path) -> None:
    """PRV-13: credentials go only to the host they are for."""
    loaded = load(tmp_path, '[servers.openrouter]\nbase_url = "https://gateway.example.com"\n')
    assert loaded.problems == ()
    assert loaded.servers["openrouter"].credential == ""


def test_an_address_in_the_file_wins_over_the_variable(tmp_path: Path) -> None:
    """C69."""
    file = tmp_path / "config.toml"
    environment = environment_of({"OLLAMA_HOST": "gpu.lan"})
    assert load_settings(file, environment).servers["ollama"].base_url == "http://gpu.lan:11434"
    file.write_text('[servers.ollama]\nbase_url = "http://127.0.0.1:9"\n')
    assert load_settings(file, environment).servers["ollama"].base_url == "http://127.0.0.1:9"


def test_a_repository_sets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SEC-4, AGT-11: what lies in the folder one works in is not read."""
    for name in ("config.toml", ".nodwyn/config.toml", ".env"):
        file = tmp_path / "repository" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('mode = "auto"\nOPENROUTER_API_KEY="x"\n')
    monkeypatch.chdir(tmp_path / "repository")
    loaded = load_settings(tmp_path / "home" / "config.toml", NOTHING)
    assert loaded.settings.mode == "ask"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "model",
                        "mode",
                        "servers",
                        "models",
                        "window",
                        "approvals",
                        "allow",
                        "ollama",
                        "provider",
                        "base_url",
                        "credential",
                        "server",
                        "price",
                        "high_water",
                        "x",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_content_loads(value: object) -> None:
    """REL-4: whatever stands in the file, the rest is used and nothing is raised."""

    def toml(item: object) -> object:
        if isinstance(item, dict):
            return {key: toml(inner) for key, inner in item.items()}
        if isinstance(item, list):
            return [toml(inner) for inner in item]
        return "" if item is None else item

    table = value if isinstance(value, dict) else {"x": value}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.toml"
        file.write_text(tomli_w.dumps(toml(table)), encoding="utf-8")
        loaded = load_settings(file, NOTHING)
        assert all(problem.error.line for problem in loaded.problems)
        for model in loaded.settings.models.values():
            assert model.server in loaded.servers


@given(st.binary(max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_bytes_load(data: bytes) -> None:
    """REL-4."""
    with tempfile.TemporaryDirectory() as folder:
        assert load(Path(folder), data).file.name == "config.toml"


def test_what_is_allowed_is_known_for_every_setting() -> None:
    assert allowed(("models", "m", "cache_control")) == "off | ephemeral | 1h | 12h"
    assert allowed(("models", "m", "price", "input")) == "a number of 0 or more"
    assert allowed(("servers", "s")) == "a table"
    assert allowed(("window", "nonsense")) == ""
    assert known_keys(("mode", "x")) is None


def test_paths_of_the_settings_start_at_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    loaded = load(tmp_path, "")
    assert loaded.beside("ca.pem") == loaded.file.parent / "ca.pem"
    assert loaded.beside("~/ca.pem") == Path("/home/someone/ca.pem")
    assert loaded.beside("/etc/ca.pem") == Path("/etc/ca.pem")
    assert loaded.beside("~nobody-of-that-name/x") == loaded.file.parent / "~nobody-of-that-name/x"


SIGN_IN = """
[servers.plan]
provider = "openai"
base_url = "https://models.example.com/v1"
credential = "{credential}"
[servers.plan.oauth]
authorize_url = "{authorize}"
token_url = "{token}"
client_id = "us"
redirect_uri = "{redirect}"
"""
FINE = {
    "credential": "oauth:keyring:plan",
    "authorize": "https://login.example.com/a?tenant=x",
    "token": "https://login.example.com/t",
    "redirect": "http://localhost:1455/auth/callback",
}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("authorize", "login.example.com", "oauth.authorize_url: the address is not one of https"),
        ("token", "http://login.example.com/t", "oauth.token_url: a sign-in may not go over"),
        ("redirect", "http://192.168.0.3/cb", "oauth.redirect_uri: the browser comes back to"),
        ("redirect", "https://127.0.0.1/cb", "oauth.redirect_uri: the browser comes back to"),
        ("credential", "oauth:plan", "servers.plan.credential: this looks like the key itself"),
        ("credential", "oauth:env:X", "servers.plan.credential: this looks like the key itself"),
    ],
)
def test_a_sign_in_that_is_not_safe_is_left_out(
    tmp_path: Path, key: str, value: str, words: str
) -> None:
    """PRV-13: with the credential that would need it."""
    assert load(tmp_path, SIGN_IN.format(**FINE)).problems == ()
    loaded = load(tmp_path, SIGN_IN.format(**FINE | {key: value}))
    assert any(words in problem.text for problem in loaded.problems)
    assert loaded.servers["plan"].credential == ""


def test_tokens_without_a_sign_in_are_left_out(tmp_path: Path) -> None:
    text = SIGN_IN.format(**FINE).partition("[servers.plan.oauth]")[0]
    (problem,) = load(tmp_path, text).problems
    assert "there is no [servers.plan.oauth]" in problem.text


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (GPT + "keep_reasoning = true", []),
        (GPT + 'keep_reasoning = "latest"\ncache_control = "12h"', []),
        (SERVER + MODEL + "keep_reasoning = true", ["models.m.keep_reasoning"]),
        (SERVER + MODEL + "keep_reasoning = false", []),
        (SERVER + MODEL + 'cache_control = "1h"', []),
        (SERVER + MODEL + 'cache_control = "12h"', ["models.m.cache_control"]),
        (GPT + 'cache_control = "1h"', ["models.m.cache_control"]),
        (GPT + 'summary = "concise"', []),
        (GPT + "effort = 4096", ["models.m.effort"]),
        (GPT + 'effort = "xhigh"', []),
        (GPT.replace('"openai"', '"anthropic"') + "effort = 4096", []),
        (SERVER + MODEL + 'summary = "off"', ["models.m.summary"]),
    ],
)
def test_setting_that_the_models_protocol_lacks_is_said(
    tmp_path: Path, text: str, warned: list[str]
) -> None:
    """PRV-3, PRV-5."""
    problems = load(tmp_path, text).problems
    assert [problem.error.key for problem in problems] == warned
    assert all(problem.warning for problem in problems)


@pytest.mark.parametrize(("written", "read"), [("4096", "4096"), ('"4096"', "4096"), ('"x"', "x")])
def test_an_effort_is_a_word_or_a_number(tmp_path: Path, written: str, read: str) -> None:
    """PRV-1: a budget of thinking is the person's to name."""
    loaded = load(tmp_path, SERVER + MODEL + f"effort = {written}")
    assert loaded.errors == ()
    assert loaded.settings.models["m"].effort == read
