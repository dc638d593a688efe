"""The engine without Ray, without a cluster, and with `rqa eval`."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

Rqa = Callable[..., Any]
CALL = "from robust_qa.main import main; main()"


def started(folder: Path, code: str, *arguments: object) -> tuple[int, str]:
    ran = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    return ran.returncode, ran.stderr


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    lines = [
        {"question": f"Who built tower {n}?", "answers": [f"Ada {n}"], "passages": [f"Tower {n} was built by Ada {n}."]}
        for n in range(12)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_without_ray_the_command_says_how_to_install_it(tmp_path: Path, rows: Path) -> None:
    code, err = started(
        tmp_path, f"import sys; sys.modules['ray'] = None; {CALL}", "batch", rows, "-o", "out/", "--engine", "ray"
    )
    assert code == 4
    assert "needs Ray, which is not installed" in err and "[ray]" in err
    assert not (tmp_path / "out").exists()


def test_other_engines_do_not_import_ray(tmp_path: Path, rows: Path) -> None:
    code = f"import atexit, sys; atexit.register(lambda: print('ray' in sys.modules, file=sys.stderr)); {CALL}"
    ended, err = started(tmp_path, code, "batch", rows, "-o", "out.jsonl", "-s", "rag")
    assert ended == 0 and err.splitlines()[-1] == "False"


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install -e '.[ray]'")
def test_no_cluster_at_the_address_is_an_error(tmp_path: Path, rows: Path) -> None:
    ray = ("--engine", "ray", "-O", "engine.ray.address=127.0.0.1:9")
    code, err = started(tmp_path, CALL, "batch", rows, "-o", "out/", "-s", "rag", *ray)
    assert code == 5 and "127.0.0.1:9" in err and "ray status" in err


def test_an_evaluation_has_the_same_scores_as_with_the_local_engine(rows: Path, cluster: Any, rqa: Rqa) -> None:
    common = ("eval", rows, "-s", "rag", "--reader", "lexical", "--no-cache")
    assert rqa(*common, "-o", "local").code == 0
    ray = ("--engine", "ray", "-O", f"engine.ray.address={cluster.address}")
    code, err = started(Path.cwd(), CALL, *common, "-o", "far", *ray)
    assert code == 0, err
    assert "rag: 12 rows" in err

    def scores(run: str) -> list[dict[str, float]]:
        found = [json.loads(line)["scores"]["rag"] for line in Path(run, "scores.jsonl").read_text().splitlines()]
        return [{name: score for name, score in row.items() if name != "seconds"} for row in found]

    assert len(scores("far")) == 12
    assert scores("far") == scores("local")
