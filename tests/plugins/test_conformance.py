"""Every built-in component that needs no configuration keeps its contract."""

from __future__ import annotations

from typing import Any

import pytest

from robust_qa.host.loading import Host
from robust_qa.testing import assert_conforms

OPTIONS: dict[str, dict[str, Any]] = {"cascade": {"steps": ["rag"]}}
CONFIGURED = {
    "trustrag",
    "openai",
    "langchain",
    "llamacpp",
    "llm",
    "rerank",
    "e5",
    "provider",
    "ray",
}  # see their own tests
COMPONENTS = [
    (kind, registration)
    for kind in ("strategy", "reader", "evaluator", "embedder", "checker", "engine")
    for registration in Host().components(kind)
    if registration.plugin.distribution == "robust-qa" and registration.name not in CONFIGURED
]


@pytest.mark.parametrize(("kind", "registration"), COMPONENTS, ids=lambda value: getattr(value, "name", value))
def test_a_component_keeps_its_contract(kind: Any, registration: Any) -> None:
    options = getattr(registration.factory, "Options", None)
    given = (options(**OPTIONS.get(registration.name, {})),) if options else ()
    assert_conforms(kind, registration.factory(*given))
