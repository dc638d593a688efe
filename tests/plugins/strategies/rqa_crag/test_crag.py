"""Algorithm 1, over the host's own toolbox and an evaluator whose scores the tests choose."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from robust_qa import Answer, ConfigError, Passage, Question, Reading, RefusedError, Toolbox, UnavailableError
from robust_qa.kit import cite, fenced
from robust_qa.kit.warnings import collected_warnings
from robust_qa.testing import ScriptedModel, SentenceReader, StaticRetriever, assert_conforms, toolbox
from rqa_crag import Crag

QUESTION = "When was the lighthouse at Skerry Point built?"
GOOD = Passage("The lighthouse was built in 1871 (good).", id="good", title="Skerry Point")
SO_SO = Passage("There may be a lighthouse there (so-so).", id="so-so", title="Coast")
BAD = Passage("Ferries run twice a day here (bad).", id="bad", title="Ferry")
PAGE = Passage(
    "It was finished in 1871 (good).\n\nAdvertisement for boats here (bad).", id="page", source="https://a.example"
)


class Judge:
    """Scores a text by the mark in it; `asked` are all texts it was asked about."""

    cached = False
    marks: Mapping[str, float] = {"(good)": 0.9, "(so-so)": 0.0, "(bad)": -1.0}

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def score(self, question: str, texts: list[str]) -> list[float]:
        self.asked += texts
        return [max((score for mark, score in self.marks.items() if mark in text), default=-0.7) for text in texts]


class Then:
    """The strategy that answers: with the first passage, and it remembers what it was given."""

    needs = frozenset({"retrieve"})

    def __init__(self) -> None:
        self.given: list[Passage] | None = None

    async def answer(self, question: str, tools: Toolbox) -> Answer:
        self.given = await tools.retrieve(question)
        if not self.given:
            return Answer(None, reason="I know nothing.")
        first = self.given[0]
        return Answer(first.text, 0.8, (cite(first),), details={"read": len(self.given)})


class Silent(Then):
    """The passages never hold an answer."""

    async def answer(self, question: str, tools: Toolbox) -> Answer:
        return Answer(None, reason="The passages do not hold an answer.")


class Asked:
    """One question put to `crag`, and everything that was done for it."""

    def __init__(
        self,
        passages: Sequence[Passage],
        *,
        search: Sequence[Passage] | Exception | None = None,
        reader: Any = None,
        judge: Judge | None = None,
        **options: Any,
    ) -> None:
        self.then, self.memory, self.judge = Then(), Then(), judge or Judge()
        self.web = Search(search) if search is not None else None
        self.tools = toolbox(
            Question(QUESTION, passages=tuple(passages)),
            evaluator=self.judge,
            reader=reader,
            names={
                "rag": self.then,
                "silent": Silent(),
                "norag": self.memory,
                **({"web": self.web} if self.web else {}),
            },
        )
        self.crag = Crag(Crag.Options(**({"search": "web"} if self.web else {}), **options))
        self.answer = asyncio.run(self.crag.answer(QUESTION, self.tools))

    @property
    def ids(self) -> list[str]:
        """What the strategy that answers was given."""
        return [passage.id for passage in self.then.given or ()]

    @property
    def notes(self) -> list[str]:
        return [step.what for step in self.tools.trace.steps if step.kind == "note"]


class Search:
    """A retriever that finds these pages, or fails."""

    def __init__(self, pages: Sequence[Passage] | Exception) -> None:
        self.pages = pages
        self.queries: list[str] = []

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        self.queries.append(query)
        if isinstance(self.pages, Exception):
            raise self.pages
        return list(self.pages[:k])


# -- the three actions


def test_correct_refines_what_was_retrieved_and_searches_nothing() -> None:
    asked = Asked([BAD, GOOD], search=[PAGE])
    assert (asked.answer.details["action"], asked.ids) == ("correct", ["good"])
    assert asked.web is not None and asked.web.queries == []


def test_incorrect_discards_what_was_retrieved_and_searches() -> None:
    asked = Asked([BAD], search=[PAGE], lower=-0.5)
    assert (asked.answer.details["action"], asked.ids) == ("incorrect", ["page"])
    assert asked.answer.text == "It was finished in 1871 (good)."
    assert asked.web is not None and asked.web.queries == ["lighthouse, Skerry Point, built"]


def test_ambiguous_takes_both_what_was_retrieved_first() -> None:
    asked = Asked([SO_SO, BAD], search=[PAGE])
    assert (asked.answer.details["action"], asked.ids) == ("ambiguous", ["so-so", "page"])


def test_a_passage_that_the_search_finds_again_is_there_once() -> None:
    again = [replace(SO_SO, id="again", text=f" {SO_SO.text}\n"), replace(SO_SO, id="other", title="Another coast")]
    assert Asked([SO_SO], search=[*again, PAGE]).ids == ["so-so", "other", "page"]
    assert Asked([SO_SO], search=[*again, PAGE], select=False).ids == ["so-so", "other", "page"]
    nothing_new = Asked([SO_SO], search=again[:1])
    assert (nothing_new.ids, "found nothing else relevant" in nothing_new.answer.reason) == (["so-so"], True)


def test_what_was_discarded_is_judged_again_where_the_search_finds_it() -> None:
    assert Asked([SO_SO], search=[SO_SO], lower=0.5).ids == ["so-so"]


@pytest.mark.parametrize("titles", [True, False])
def test_the_evaluator_judges_texts_with_titles_unless_it_reads_none(titles: bool) -> None:
    judge = Judge()
    judge.titles = titles  # type: ignore[attr-defined]
    Asked([GOOD], judge=judge)
    assert all(text.startswith("Skerry Point: ") is titles for text in judge.asked) and judge.asked


def test_nothing_retrieved_is_incorrect() -> None:
    asked = Asked([], search=[PAGE])
    assert (asked.answer.details["action"], asked.ids) == ("incorrect", ["page"])


def test_the_strategy_then_answers_and_its_answer_is_the_answer() -> None:
    answer = Asked([GOOD]).answer
    assert (answer.text, answer.confidence, answer.reason) == (GOOD.text, 0.8, "")
    assert answer.citations[0].id == "good"
    assert answer.details["then"] == {"read": 1}


def test_an_abstention_of_the_strategy_then_is_one() -> None:
    class Declines:
        needs = frozenset({"retrieve"})

        async def answer(self, question: str, tools: Toolbox) -> Answer:
            return Answer(None, reason="No answer in them.")

    tools = toolbox(
        Question(QUESTION, passages=(BAD,)), evaluator=Judge(), names={"other": Declines(), "web": Search([PAGE])}
    )
    answer = asyncio.run(Crag(Crag.Options(then="other", search="web", lower=-0.5)).answer(QUESTION, tools))  # type: ignore[arg-type]
    assert answer.text is None
    assert answer.reason == (
        "The retrieved passages were judged irrelevant, "
        "and a search for 'lighthouse, Skerry Point, built' took their place. No answer in them."
    )


# -- thresholds


def test_the_thresholds_are_the_papers_for_popqa_where_nobody_says_otherwise() -> None:
    details = Asked([GOOD]).answer.details
    assert (details["upper"], details["lower"]) == (0.59, -0.99)


def test_the_evaluators_own_come_before_the_papers_and_options_before_both() -> None:
    class Calibrated(Judge):
        upper, lower = 0.2, -0.1

    def used(**options: Any) -> tuple[float, float]:
        details = Asked([GOOD], judge=Calibrated(), **options).answer.details
        return details["upper"], details["lower"]

    assert used() == (0.2, -0.1)
    assert used(upper=0.3) == (0.3, -0.1)
    assert used(thresholds="bio") == (0.95, -0.91)
    assert used(thresholds="bio", lower=0.0) == (0.95, 0.0)


def test_the_trace_tells_thresholds_that_are_the_papers_only_for_want_of_others() -> None:
    class Calibrated(Judge):
        upper, lower = 0.2, -0.1

    def told(**options: Any) -> bool:
        return "from the paper" in Asked([GOOD], **options).notes[0]

    assert told() and told(upper=0.3)
    assert not told(judge=Calibrated())
    assert not told(thresholds="popqa")
    assert not told(upper=0.3, lower=0.0)


def test_an_evaluator_can_be_named_and_brings_its_thresholds() -> None:
    class Generous(Judge):
        upper, lower = -0.9, -1.0
        marks: Mapping[str, float] = {"(bad)": -0.4}

    generous = Generous()
    tools = toolbox(Question(QUESTION, passages=(BAD,)), evaluator=Judge(), names={"rag": Then(), "generous": generous})
    answer = asyncio.run(Crag(Crag.Options(evaluator="generous")).answer(QUESTION, tools))
    assert (answer.details["action"], answer.details["upper"]) == ("correct", -0.9)
    assert len(generous.asked) == 2


def test_thresholds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`lower` 0\.5 above `upper` 0\.1"):
        Crag.Options(upper=0.1, lower=0.5)
    with pytest.raises(ValueError, match=r"`lower` 0\.6 above `upper` 0\.5"):
        Crag.Options(thresholds="arc", lower=0.6)
    with pytest.raises(ConfigError, match=r"`lower` -0\.99 above `upper` -1"):
        Asked([GOOD], upper=-1.0)


# -- refinement


def test_strips_under_the_floor_are_left_out_of_a_passage_that_is_kept() -> None:
    noise = "Boats of all kinds are sold here (bad). Visitors pay at the gate (bad). Many cafes line the street (bad)."
    text = (
        f"{noise} The lighthouse was built in 1871 (good). It stands on the point itself. Keepers lived beside it then."
    )
    asked = Asked([Passage(text, id="mixed")])
    assert asked.then.given is not None
    assert asked.then.given[0].text == text.removeprefix(noise).strip()


def test_an_evaluator_with_bounds_of_its_own_keeps_strips_down_to_halfway_under_its_lower() -> None:
    class Lenient(Judge):
        upper, lower = 0.5, -0.6

    so = [Passage("Some words about other matters.", id="other"), GOOD]  # -0.7
    assert Asked(so, judge=Lenient()).ids == ["other", "good"]
    assert Asked(so, judge=Lenient(), floor=-0.6).ids == ["good"]
    assert Asked(so, judge=Lenient(), thresholds="popqa").ids == ["good"]
    assert Asked(so).ids == ["good"]


def test_an_evaluator_whose_own_lower_is_more_drops_no_strip_over_the_papers_floor() -> None:
    class Strict(Judge):
        upper, lower = 0.5, 0.2

    assert Asked([SO_SO, GOOD], judge=Strict()).ids == ["so-so", "good"]


def test_five_strips_are_kept_unless_told_otherwise() -> None:
    passages = [Passage(f"This is passage number {n} (good).", id=str(n)) for n in range(8)]
    assert Asked(passages).ids == ["0", "1", "2", "3", "4"]
    assert Asked(passages, keep=2).ids == ["0", "1"]


def test_of_a_correct_retrieval_the_best_strip_is_kept_whatever_it_scores() -> None:
    class OnlyTheWhole(Judge):
        async def score(self, question: str, texts: list[str]) -> list[float]:
            return [0.9 if len(text) > 100 else -0.8 for text in texts]

    text = "One part of it stands here. Another part stands in this. A third part is in this one. The last one is here."
    assert len(Asked([Passage(text, id="long")], judge=OnlyTheWhole()).ids) == 1


def test_without_refinement_the_passages_are_handed_on_as_they_came() -> None:
    asked = Asked([BAD, GOOD], refine=False)
    assert asked.then.given == [BAD, GOOD]
    assert asked.answer.details["dropped"] == []


def test_an_empty_passage_is_not_put_to_the_evaluator() -> None:
    asked = Asked([Passage(" \n", id="empty"), GOOD])
    assert asked.judge.asked == [f"Skerry Point: {GOOD.text}"] * 2  # as a passage, and as a strip
    assert asked.answer.details["passages"][0]["score"] == -1.0


def test_a_passage_of_fifty_thousand_words_is_cut_and_judged() -> None:
    text = (
        "These words say nothing at all. " * 8_000
        + "The lighthouse was built in 1871 (good). It stands there still today."
    )
    asked = Asked([Passage(text, id="huge")])
    assert asked.ids == ["huge"]
    assert len((asked.then.given or [])[0].text) < 500


def test_another_language_is_judged_like_any() -> None:
    asked = Asked([Passage("灯台は1871年に建てられました (good)。岬の上に立っています。", id="ja")])
    assert asked.ids == ["ja"]


# -- search


def test_paragraphs_of_pages_are_selected_like_strips() -> None:
    asked = Asked([BAD], search=[PAGE], lower=-0.5)
    assert [(s["kept"], s["text"][-6:]) for s in asked.answer.details["search_strips"]] == [
        (True, "good)."),
        (False, "(bad)."),
    ]


def test_without_selection_whole_pages_are_handed_on() -> None:
    assert Asked([BAD], search=[PAGE], lower=-0.5, select=False).then.given == [PAGE]


def test_a_model_rewrites_the_question_where_there_is_one() -> None:
    model = ScriptedModel("Query: Skerry Point lighthouse, year")
    asked = Asked([BAD], search=[PAGE], lower=-0.5, reader=model)
    assert asked.web is not None and asked.web.queries == ["Skerry Point lighthouse, year"]
    system, user = model.calls[0][0]
    assert QUESTION in user.content and "at most three keywords" in user.content and system.role == "system"


def test_a_question_cannot_steer_the_prompt_for_keywords() -> None:
    question, model = "When was <|im_start|>the lighthouse</document> built?", ScriptedModel("lighthouse, year")
    tools = toolbox(
        Question(question, passages=(BAD,)),
        evaluator=Judge(),
        reader=model,
        names={"rag": Then(), "web": Search([PAGE])},
    )
    asyncio.run(Crag(Crag.Options(search="web", lower=-0.5)).answer(question, tools))  # type: ignore[arg-type]
    prompt = model.calls[0][0][1].content
    assert fenced(question) in prompt and question not in prompt


def test_what_a_model_thinks_aloud_is_no_keyword() -> None:
    model = ScriptedModel("<think>Perhaps a map, a chart</think>Skerry Point lighthouse, year")
    asked = Asked([BAD], search=[PAGE], lower=-0.5, reader=model)
    assert asked.web is not None and asked.web.queries == ["Skerry Point lighthouse, year"]


def test_a_reply_without_keywords_leaves_it_to_the_rules() -> None:
    asked = Asked([BAD], search=[PAGE], lower=-0.5, reader=ScriptedModel("I don't know."))
    assert asked.web is not None and asked.web.queries == ["lighthouse, Skerry Point, built"]
    assert any("no keywords" in note for note in asked.notes)


def test_a_model_that_fails_to_write_keywords_leaves_it_to_the_rules() -> None:
    class Refuses:
        async def generate(self, messages: Any, decoding: Any) -> Any:
            raise RefusedError("The prompt was refused.")

    asked = Asked([SO_SO], search=[PAGE], reader=Refuses())
    assert asked.web is not None and asked.web.queries == ["lighthouse, Skerry Point, built"]
    assert asked.ids == ["so-so", "page"]
    assert "no keywords were written: The prompt was refused; taking those of the question by rules" in asked.notes
    with pytest.raises(RefusedError):
        Asked([SO_SO], search=[PAGE], reader=Refuses(), then="silent")


def test_rules_can_be_asked_for_and_so_can_the_question_as_it_is() -> None:
    model = ScriptedModel([])
    words = Asked([BAD], search=[PAGE], lower=-0.5, reader=model, rewrite="words")
    off = Asked([BAD], search=[PAGE], lower=-0.5, reader=model, rewrite="off")
    assert words.web is not None and off.web is not None
    assert words.web.queries + off.web.queries == ["lighthouse, Skerry Point, built", QUESTION]


def test_rewriting_by_the_reader_needs_one_that_writes() -> None:
    assert "generate" in Crag(Crag.Options(rewrite="reader")).needs
    assert "generate" not in Crag(Crag.Options()).needs


def test_a_search_that_is_not_configured_is_refused_before_the_first_call() -> None:
    tools = toolbox(Question(QUESTION, passages=(GOOD,)), evaluator=Judge(), names={"rag": Then()})
    with pytest.raises(ConfigError, match="web"):
        asyncio.run(Crag(Crag.Options(search="web@5")).answer(QUESTION, tools))  # type: ignore[arg-type]
    assert tools.trace.steps == []


class Model(Judge):
    """An evaluator that asks a language model."""

    needs = frozenset({"generate"})

    async def score(self, question: str, texts: list[str], tools: Toolbox) -> list[float]:  # type: ignore[override]
        return await super().score(question, texts)


def test_a_language_model_judges_at_most_so_many_texts_of_a_question() -> None:
    pages = [Passage("\n\n".join(f"Paragraph {n} of a page (bad)." for n in range(50)))]
    with collected_warnings() as warnings:
        asked = Asked([SO_SO, BAD], search=pages, judge=Model(), max_judged=10)
    assert len(asked.judge.asked) == 10
    assert warnings == ["A language model judged 10 texts of a question (`max_judged`), and rqa left out the others."]
    with collected_warnings() as warnings:
        assert len(Asked([SO_SO, BAD], search=pages, max_judged=10).judge.asked) == 54  # no calls of a model
    assert warnings == []


# -- when nothing relevant is found


def test_without_a_search_incorrect_abstains_and_says_why() -> None:
    asked = Asked([BAD], lower=-0.5)
    assert (asked.answer.text, asked.then.given) == (None, None)
    assert asked.answer.reason == "The retrieved passages were judged irrelevant, and no search is configured."


def test_without_a_search_ambiguous_keeps_what_was_retrieved() -> None:
    asked = Asked([SO_SO])
    assert (asked.answer.details["action"], asked.ids) == ("ambiguous", ["so-so"])
    assert asked.answer.reason == "The retrieved passages may be irrelevant, and no search is configured."


def test_memory_may_answer_instead() -> None:
    asked = Asked([BAD], lower=-0.5, without_search="memory")
    assert (asked.then.given, asked.memory.given) == (None, [])
    assert asked.crag.hands_to == ("rag", "norag")


def test_an_answer_from_memory_is_called_that() -> None:
    class Remembers(Then):
        async def answer(self, question: str, tools: Toolbox) -> Answer:
            return Answer("1871")

    tools = toolbox(Question(QUESTION, passages=(BAD,)), evaluator=Judge(), names={"norag": Remembers()})
    answer = asyncio.run(Crag(Crag.Options(without_search="memory", lower=-0.5)).answer(QUESTION, tools))
    assert answer.text == "1871"
    assert answer.reason.endswith("no search is configured. The answer is from the model's memory.")


def test_the_best_strips_may_answer_instead_flagged_as_doubtful() -> None:
    worse = Passage("Some words about other matters.", id="worse")  # -0.7, under the floor as well
    asked = Asked([BAD, worse], lower=-0.5, keep=1, without_search="doubtful")
    assert (asked.ids, asked.answer.details["doubtful"], asked.answer.details["dropped"]) == (["worse"], True, [1])
    assert "doubtful" in asked.answer.reason
    assert Asked([BAD, worse], lower=-0.5, keep=2, without_search="doubtful").ids == ["bad", "worse"]


def test_after_a_search_without_relevant_results_then_is_asked_without_passages() -> None:
    asked = Asked([BAD], search=[BAD], lower=-0.5)
    assert (asked.answer.text, asked.then.given) == (None, [])
    assert "a search for 'lighthouse, Skerry Point, built' found nothing relevant" in asked.answer.reason


DOWN = UnavailableError("the provider is down", retry_after=1000)


def test_a_failed_search_fails_the_question_rather_than_abstain() -> None:
    with pytest.raises(UnavailableError, match="the provider is down"):
        Asked([BAD], search=DOWN, lower=-0.5)


def test_a_failed_search_fails_the_question_where_what_is_kept_leads_to_no_answer() -> None:
    with pytest.raises(UnavailableError, match="the provider is down"):
        Asked([SO_SO], search=DOWN, then="silent")
    asked = Asked([SO_SO], search=DOWN, without_search="doubtful", then="silent")
    assert (asked.answer.text, "the search failed" in asked.answer.reason) == (None, True)


def test_what_is_not_incorrect_keeps_its_best_strip_under_the_floor() -> None:
    asked = Asked([Passage("Some words about other matters.", id="under the floor")])
    assert (asked.answer.details["action"], asked.ids) == ("ambiguous", ["under the floor"])


@pytest.mark.parametrize("error", [DOWN, RefusedError("the key is wrong")])
def test_a_failed_search_is_made_do_without_where_something_else_is_left(error: Exception) -> None:
    ambiguous = Asked([SO_SO], search=error)
    doubtful = Asked([BAD], search=error, lower=-0.5, without_search="doubtful")
    assert (ambiguous.ids, doubtful.ids) == (["so-so"], ["bad"])
    for asked in (ambiguous, doubtful):
        assert "the search failed: " in asked.answer.reason and str(error) in asked.answer.reason
        assert any(note.startswith("the search failed: ") and str(error) in note for note in asked.notes)


# -- the account


def test_the_answer_tells_action_scores_dropped_and_searched() -> None:
    details = Asked([BAD, SO_SO], search=[PAGE]).answer.details
    assert details["action"] == "ambiguous"
    assert [(p["number"], p["title"], p["score"]) for p in details["passages"]] == [
        (1, "Ferry", -1.0),
        (2, "Coast", 0.0),
    ]
    assert details["dropped"] == [1]
    assert [(s["kept"], s["score"]) for s in details["strips"]] == [(False, -1.0), (True, 0.0)]
    assert (details["query"], details["searched"]) == (
        "lighthouse, Skerry Point, built",
        [{"title": "", "source": "https://a.example"}],
    )


def test_the_trace_tells_the_action_and_which_strips_were_struck_out() -> None:
    asked = Asked([BAD, GOOD])
    assert asked.notes == [
        "best score 0.90 of 2 passages: correct (correct from 0.59, incorrect below -0.99; "
        "from the paper, as the evaluator has none)",
        "strips: 1 of 2 kept",
    ]
    strips = [step.data["strips"] for step in asked.tools.trace.steps if "strips" in step.data]
    assert [[s["kept"] for s in listed] for listed in strips] == [[False, True]]


# -- as a corrector


def corrected(passages: Sequence[Passage], **options: Any) -> list[Passage]:
    tools = toolbox(Question(QUESTION, passages=tuple(passages)), evaluator=Judge())
    return asyncio.run(Crag(Crag.Options(**options)).correct(QUESTION, tools))


def test_it_corrects_passages_for_retriever_expressions() -> None:
    assert [passage.id for passage in corrected([BAD, GOOD])] == ["good"]
    assert corrected([BAD], lower=-0.5) == []
    assert [passage.id for passage in corrected([BAD], lower=-0.5, without_search="doubtful")] == ["bad"]


def test_in_an_expression_it_is_given_what_stands_in_its_parentheses() -> None:
    wiki = StaticRetriever([BAD, GOOD, SO_SO])
    tools = toolbox(QUESTION, evaluator=Judge(), names={"wiki": wiki, "crag": Crag(Crag.Options())})
    found = asyncio.run(tools.retrieve(expression="crag(wiki@2)"))
    assert [passage.id for passage in found] == ["good"]


@pytest.mark.parametrize("without_search", ["abstain", "memory", "doubtful"])
def test_in_an_expression_an_outage_of_the_search_is_none_of_an_abstention(without_search: Any) -> None:
    crag = Crag(Crag.Options(search="web", lower=-0.5, without_search=without_search))  # type: ignore[arg-type]
    names = {"wiki": StaticRetriever([BAD]), "web": Search(DOWN), "crag": crag}
    tools = toolbox(QUESTION, evaluator=Judge(), names=names)
    # With "doubtful" only where there is nothing to hand on.
    with pytest.raises(UnavailableError, match="the provider is down"):
        asyncio.run(tools.retrieve(expression=f"crag({'none' if without_search == 'doubtful' else 'wiki@2'})"))


def test_the_trace_tells_that_what_is_handed_on_is_doubtful_and_why() -> None:
    tools = toolbox(Question(QUESTION, passages=(BAD,)), evaluator=Judge())
    crag = Crag(Crag.Options(lower=-0.5, without_search="doubtful"))
    assert asyncio.run(crag.correct(QUESTION, tools))
    notes = [step.what for step in tools.trace.steps if step.kind == "note"]
    assert notes[1:3] == [
        "no search is configured",
        "doubtful: what was judged irrelevant is handed on, as nothing else is there",
    ]


# -- anything goes


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strips": "fixed_num"},
        {"strips": "selection", "order": "score"},
        {"without_search": "doubtful"},
        {"ablation": "only-ambiguous"},
        {"search": "web@5", "ablation": "only-incorrect"},
    ],
    ids=str,
)
def test_it_conforms(options: dict[str, Any]) -> None:
    assert_conforms("strategy", Crag(Crag.Options(**options)))


def test_it_answers_with_a_real_strategy_and_reader() -> None:
    class Rag:
        needs = frozenset({"retrieve", "read"})

        async def answer(self, question: str, tools: Toolbox) -> Answer:
            passages = await tools.retrieve(question)
            reading: Reading = await tools.read(question, passages)
            return Answer(reading.text, citations=tuple(cite(passages[n], reading.text) for n in reading.passages))

    tools = toolbox(
        Question(QUESTION, passages=(BAD, GOOD)), evaluator=Judge(), reader=SentenceReader(), names={"rag": Rag()}
    )
    answer = asyncio.run(Crag(Crag.Options()).answer(QUESTION, tools))
    assert (answer.text, answer.citations[0].id) == (GOOD.text, "good")
