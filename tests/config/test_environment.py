"""The folders of rqa."""

import platformdirs
import pytest

from robust_qa import ConfigError
from robust_qa.config import environment


def _no_home(*_: object, **__: object) -> None:
    raise RuntimeError("could not determine the home directory")


@pytest.mark.parametrize("value", [None, "~nobody-of-that-name/rqa"])
@pytest.mark.parametrize("kind", ["config", "data", "cache"])
def test_without_a_home_directory_the_variable_that_helps_is_named(
    kind: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"RQA_{kind.upper()}_DIR"
    monkeypatch.setattr(platformdirs, f"user_{kind}_path", _no_home)
    monkeypatch.delenv(variable)
    if value:
        monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match="no home directory") as raised:
        getattr(environment, f"{kind}_dir")()
    assert variable in raised.value.hint and "HOME" in raised.value.hint
