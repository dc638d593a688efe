"""The engine without Ray, and with `rqa eval`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

WITHOUT = "import sys; sys.modules['ray'] = None; from robust_qa.main import main; main()"


def rqa(folder: Path, *arguments: object, code: str = "from robust_qa.main import main; main()") -> tuple[int, str]:
    ran = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    return ran.returncode, ran.stderr


def rows(folder: Path, count: int = 12) -> Path:
    path = folder / "in.jsonl"
    lines = [
        {"question": f"Who built tower {n}?", "answers": [f"Ada {n}"], "passages": [f"Tower {n} was built by Ada {n}."]}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_without_ray_the_command_says_how_to_install_it(tmp_path: Path) -> None:
    code, err = rqa(tmp_path, "batch", rows(tmp_path), "-o", "out/", "--engine", "ray", code=WITHOUT)
    assert code == 4
    assert "needs Ray, which is not installed" in err and "pip install 'robust-qa[ray]'" in err
    assert not (tmp_path / "out").exists()


def test_other_commands_do_not_import_ray(tmp_path: Path) -> None:
    code = "import atexit, sys; atexit.register(lambda: print('ray' in sys.modules, file=sys.stderr));"
    code += "from robust_qa.main import main; main()"
    ended, err = rqa(tmp_path, "batch", rows(tmp_path), "-o", "out.jsonl", "-s", "rag", code=code)
    assert ended == 0 and err.splitlines()[-1] == "False"


def test_no_cluster_at_the_address_is_an_error(tmp_path: Path, cluster: Any) -> None:
    code, err = rqa(
        tmp_path, "batch", rows(tmp_path), "-o", "out/", "-s", "rag", "--engine", "ray", "--address", "127.0.0.1:9"
    )
    assert code == 5 and "127.0.0.1:9" in err and "ray status" in err


def test_an_evaluation_has_the_same_scores_as_with_the_local_engine(tmp_path: Path, cluster: Any) -> None:
    data = rows(tmp_path)
    common = ("eval", data, "-s", "rag,consensus", "--reader", "lexical", "--no-cache")
    code, err = rqa(tmp_path, *common, "-o", "local")
    assert code == 0, err
    code, err = rqa(tmp_path, *common, "-o", "far", "--engine", "ray", "--address", cluster.address)
    assert code == 0, err

    def scores(run: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in (tmp_path / run / "scores.jsonl").read_text().splitlines()]
        for row in found:
            row.get("scores", row).pop("seconds", None)
        return found

    assert scores("far") == scores("local")
    assert "rag: 12 rows" in err and "consensus: 12 rows" in err
