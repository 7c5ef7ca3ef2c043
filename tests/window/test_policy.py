"""The table of recipes (ENG-9)."""

import dataclasses

import pytest

from nodwyn_tui.errors import ReplayError
from nodwyn_tui.window.policy import ADDED, Policy, policy_for


@pytest.mark.parametrize("version", [0, 3, 4, 5, 11, 13, 21])
def test_undocumented_version_is_refused_by_name(version: int) -> None:
    with pytest.raises(ReplayError, match=f"recipe version {version} is not documented"):
        policy_for(version)


def test_every_flag_is_added_once_and_stays() -> None:
    flags = [flag for added in ADDED.values() for flag in added]
    assert sorted(flags) == sorted(field.name for field in dataclasses.fields(Policy))
    assert all(dataclasses.astuple(policy_for(20)))
    assert not policy_for(18).wide_reads
    assert policy_for(18).blocks
