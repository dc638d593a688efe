"""Answer the rows of a file with a LangGraph graph of two sequential model calls. `calls.py` runs it.

    python benchmarks/peer_langgraph.py ROWS URL JOBS OUT

The graph does what `rqa batch -s astute` asks a model for: a passage from memory, then an answer from all passages. It
does the least that such a program can do: it requests no schema, and does not parse or cite.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

MEMORY = "Write one passage that answers the question from your memory.\n\nQuestion: {question}"
ANSWER = "Answer the question from these documents. Reason first.\n\n{documents}\n\nQuestion: {question}"


class State(TypedDict, total=False):
    """One question, and what the graph has found out."""

    question: str
    passages: list[str]
    memory: str
    answer: str


async def main(rows: Path, url: str, jobs: int, out: Path) -> None:
    model = ChatOpenAI(model="benchmark", base_url=url, api_key="none", temperature=0, max_tokens=1024)

    async def remember(state: State) -> State:
        reply = await model.ainvoke(MEMORY.format(question=state["question"]))
        return {"memory": reply.text}

    async def answer(state: State) -> State:
        documents = "\n".join(
            f'<document number="{number}">\n{text}\n</document>'
            for number, text in enumerate([*state["passages"], state["memory"]], start=1)
        )
        reply = await model.ainvoke(ANSWER.format(documents=documents, question=state["question"]))
        return {"answer": reply.text}

    graph = StateGraph(State)
    graph.add_node("remember", remember)
    graph.add_node("answer", answer)
    graph.add_edge(START, "remember")
    graph.add_edge("remember", "answer")
    graph.add_edge("answer", END)
    questions: list[Any] = [
        State(
            question=row["question"], passages=[f"{passage['title']}: {passage['text']}" for passage in row["passages"]]
        )
        for row in map(json.loads, rows.open())
    ]
    states = await graph.compile().abatch(questions, {"max_concurrency": jobs})
    with out.open("w") as file:
        for state in states:
            file.write(json.dumps({"question": state["question"], "answer": state["answer"]}) + "\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])))
