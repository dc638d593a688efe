import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from endpoint import calls, instance, running


def ask(url: str, **fields: Any) -> Any:
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(fields).encode())
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def test_it_answers_in_the_form_that_is_asked_for_and_counts() -> None:
    schema = {"type": "object", "properties": {"answer": {"type": ["string", "null"]}}}
    with running() as url:
        plain = ask(url, messages=[])
        formed = ask(url, messages=[], response_format={"type": "json_schema", "json_schema": {"schema": schema}})
        assert calls(url) == 2
    assert plain["choices"][0]["message"]["content"] == "Answer: Paris"
    assert json.loads(formed["choices"][0]["message"]["content"]) == {"answer": "Paris"}


def test_a_reply_has_every_property_of_its_schema() -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}, "b": {"type": "boolean"}}}
    kind = {"enum": ["x", "y"]}
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": item, "minItems": 2}, "kind": kind}}
    assert instance(schema) == {"items": [{"n": 3, "b": True}] * 2, "kind": "x"}
