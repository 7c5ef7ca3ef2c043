"""What must hold of the repository as a whole (QLT-1)."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

HOSTS = [
    "pypi" + ".org",
    "python" + "hosted.org",
    "registry." + "npmjs.org",
    "deb." + "debian.org",
    "security." + "debian.org",
]
BUILD_MACHINES = re.compile(r"(?<![\w.])/(?:wo" + r"rk|fa" + r"rm)/[\w.-]+")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)#\s]+)(?:#[^)]*)?\)")


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z"],
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    return [path for path in paths if path.is_file()]


def texts() -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_bytes().decode("utf-8", "replace")
        for path in tracked()
    }


def test_no_file_names_a_package_registry() -> None:
    """QLT-4: whoever builds it uses what their machine is set up for."""
    found = [(name, host) for name, text in texts().items() for host in HOSTS if host in text]
    assert found == []


def test_no_file_names_a_path_of_one_machine() -> None:
    found = [
        (name, match.group())
        for name, text in texts().items()
        for match in [BUILD_MACHINES.search(text)]
        if match
    ]
    found += [(name, str(ROOT)) for name, text in texts().items() if f"{ROOT}/" in text]
    assert found == []


def test_the_licence_names_its_holder() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert text.startswith("MIT License")
    assert "Copyright (c) 2026 the Nodwyn contributors" in text


def test_the_readmes_commands_exist() -> None:
    """Two of them set everything up: one opens the app, one runs the tests."""
    readme = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text()))
    commands = set(re.findall(r"\bmake ([a-z]+)\b", readme))
    assert {"run", "test", "check"} <= commands
    assert commands <= targets
    assert re.findall(r"(?m)^    make (\w+)$", readme) == ["run", "test"]


def test_the_readme_fits_two_screens() -> None:
    """QLT-3."""
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 110


def test_links_of_the_docs_lead_somewhere() -> None:
    pages = [path for path in tracked() if path.suffix == ".md" and path.is_relative_to(ROOT)]
    missing = [
        (str(page.relative_to(ROOT)), target)
        for page in pages
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert missing == []


def test_scripts_can_be_run() -> None:
    for name in (".ci/run", "tools/set-up", "tools/smoke"):
        assert os.access(ROOT / name, os.X_OK), name


def test_every_dependency_is_pinned_and_explained() -> None:
    """QLT-4: `constraints.txt` has each direct dependency, `docs/dependencies.md` a reason."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {re.split(r"[^A-Za-z0-9-]", entry)[0].lower() for entry in direct}
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    explained = (ROOT / "docs" / "dependencies.md").read_text().lower()
    assert names - pinned == set()
    assert [name for name in names if name not in explained] == []


def test_constraints_name_no_place() -> None:
    """QLT-4: versions only, so that any registry will do."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"#.*|[\w.-]+==[\w.+!-]+", line) for line in lines)


def test_requirements_are_listed_once() -> None:
    ids = re.findall(r"(?m)^\| ([A-Z]+-?\d+) \|", (ROOT / "docs" / "requirements.md").read_text())
    assert len(ids) > 100
    assert len(ids) == len(set(ids))
