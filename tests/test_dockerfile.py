"""The Dockerfile's command serves a folder and asks for the token."""

import json
import re
from pathlib import Path

import httpx
from standins.serving import serving

ROOT = Path(__file__).parents[1]


def test_the_container_serves_its_folder_to_those_with_the_token(tmp_path: Path) -> None:
    commands = dict(re.findall(r"^(ENTRYPOINT|CMD) (\[.*\])$", (ROOT / "Dockerfile").read_text("utf-8"), re.M))
    rqa, serve, *arguments = [*json.loads(commands["ENTRYPOINT"]), *json.loads(commands["CMD"])]
    assert (Path(rqa).name, serve) == ("rqa", "serve")
    folders = {"/docs": str(ROOT / "examples" / "harbour")}
    with serving(tmp_path, *(folders.get(each, each) for each in arguments), RQA_KEY_SERVE="secret" * 4) as server:
        url = re.sub(r"//.*?:", "//127.0.0.1:", server.url).removesuffix("/v1")
        question = {"question": "Who was the last keeper?"}
        assert httpx.get(f"{url}/health").status_code == 200
        assert httpx.post(f"{url}/v1/rqa/ask", json=question).status_code == 401
        token = {"Authorization": f"Bearer {'secret' * 4}"}
        assert httpx.post(f"{url}/v1/rqa/ask", json=question, headers=token).json()["answer"] == "Joan Pascoe"
        assert server.stop() == 0
