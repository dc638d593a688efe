"""Parse the replies of language models: JSON, marked blocks, and "I don't know".

No function raises for any text, because a reply is data and may quote documents that imitate a reply.
"""

from __future__ import annotations

import dataclasses
import json
import re
from contextlib import suppress
from functools import cache
from typing import Any

from robust_qa import Completion, CutError
from robust_qa.kit import printable

TAGS = ("answer", "passage")  # marks that models also write as tags; <summary> is common in documents
# Models also put their own answers in the brackets, so text that is not a mark's name stays.
_MARK = re.compile(r"<<<[\s/\\]*+(?:(?:ANSWER|PASSAGE|SUMMARY)\b[\s:]*+)?([^<>]*+)>>>", re.IGNORECASE)
_EMPHASIS = re.compile(r"(?<![\w*])\*{2,}+|(?<!\*)\*{2,}+(?!\w)")  # not the power in 2**3
_NUMBERS = re.compile(r"(?<![\d.–]|\B-)(\d+)(?:\.0+)?(?:\s*[–-]\s*(\d+))?")
_NONE = re.compile(r"\W*+(?:\Z|(?:none|no(?!\W*+\d)|neither|nothing)\b)", re.IGNORECASE)  # "No. 3" is document 3
_LONGEST = 100_000  # characters searched for JSON, far more than in any reply
_LONGEST_LINE = 4000  # characters of a field
_EFFORT = 10 * _LONGEST  # characters of broken JSON read before the search stops
_OBJECT = re.compile(r'\{(?=\s*+["}])')
# <think>, <thought>, <|begin_of_thought|>, <|START_THINKING|>, <seed:think>; Magistral's, Kimi's and Gemma's own.
# Some chat templates open the tag themselves.
_THOUGHT = r"(?:\w+:)?(?:think(?:ing)?|thoughts?|reasoning)\|?>"
_OPENING = rf"<(?:\|(?:(?:begin|start)_(?:of_)?)?)?{_THOUGHT}|(?-i:\[THINK\])|◁think▷|<\|channel>thought\b"
_CLOSING = rf"<(?:/|\|/|\|end_(?:of_)?){_THOUGHT}|(?-i:\[/THINK\])|◁/think▷|<channel\|>"
_THOUGHTS = re.compile(
    rf"""\A\s*+(?: (?:{_OPENING}).*?(?:{_CLOSING}|\Z)
                | (?:(?!{_OPENING}).)*?(?:{_CLOSING})
                | (?=<\|channel\|>).*?(?:<\|channel\|>final<\|message\|>|\Z) )  # gpt-oss
         (?:\s*+<\|(?:begin|start)_\w++\|>)?+  # of the solution, the response or a box""",
    re.DOTALL | re.VERBOSE | re.IGNORECASE,
)
# Tokens that end a reply. Some servers leave them in the text.
_END_MARKS = re.compile(
    r"(?:(?:</?s>|<(?:eos|pad|end_of_turn|end_of_utterance)>|\[(?:end of text|/?INST|EOS)\]"
    r"|<[|｜][\w▁]{1,40}[|｜]>)\s*+){1,4}(?:<[|｜]\w{0,40})?\Z|<[|｜]\w{0,40}\Z"
)
# A model that ran on after its turn. Text that only mentions such a token goes on after a space or a quote.
_NEXT_TURN = re.compile(
    r"(?:<(?<!\A<)(?:end_of_turn|\|(?:im_end|im_start|eot_id|end|endoftext|end_of_text)\|)>(?=\s*+(?:<|\Z)|[ \t]*\n|\w)"
    r"|\n(?:###[ \t]*)?(?:Human|User|Instruction)[ \t]*:).*",
    re.DOTALL,
)
_FENCED_STRING = re.compile(r'\s*(?:```\w*\s*)?(?=")')
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[}\]])', re.DOTALL)  # strings pass unchanged
# Accepts newlines in strings. NaN and Infinity, which JSON lacks, become null.
_JSON = json.JSONDecoder(strict=False, parse_constant=lambda _: None)

UNKNOWN = "UNKNOWN"  # the word that prompts ask for where an answer is not known; schemas have null
_MARKER = re.compile(rf"{UNKNOWN}\b(?!\s+[A-Z]|\s*:)")  # not the title UNKNOWN PLEASURES
_LONGEST_REFUSAL = 2000  # characters that are searched for one
_SHORT_FORMS = (
    (re.compile(r"[’`]"), "'"),
    (re.compile(r"\bI\b"), "i"),
    (re.compile(r"\bAI\b"), "ai"),
    (re.compile(r"\bcan(?:'?t|not)\b"), "can not"),
    (re.compile(r"\b(do|does|did|could|is|was|are|am)n'?t\b"), r"\1 not"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"\bthere's\b"), "there is"),
)
_SOURCES = (
    r"(?:(?:the|these|this|any of the|my)\ )?(?:(?:provided|given|retrieved|available)\ )?"
    r"(?:documents?|passages?|texts?|context|evidence|sources?|information|knowledge)\b"
)
# Refusals in English, for models that do not keep to the form. Written in lower case, so that the title "I Don't Know
# How to Love Him" is an answer. Each may go on, unless that gives an answer: "I am not sure, but it may be Paris".
_REFUSALS = (
    r"i (?:really |simply )?do not (?:know|recall|remember)",
    r"i (?:do not|did not) (?:have|find|see) (?:\w+ ){0,4}(?:information|knowledge|access|data|details|answer)",
    r"i have no (?:\w+ ){0,2}(?:information|knowledge|idea|record)",
    r"i (?:can not|could not|am unable to|am not able to) (?:\w+ly )?(?:answer|assist|determine|find|provide|confirm"
    r"|say|give|identify|verify|help(?= with\b| you\b|\W*\Z|[.,;!]))",
    r"i am not (?:familiar with|aware of|sure|certain)",
    r"there is (?:no|not enough|insufficient|not sufficient) (?:\w+ ){0,2}(?:information|evidence|data|mention|answer)",
    rf"{_SOURCES} (?:do|does|did) not (?:say|state|mention|contain|provide|specify|include|give|answer|indicate|name"
    r"|tell|address|reveal|list|identify|have|hold|cover|show|support)",
    rf"none of {_SOURCES}",
    r"i (?:must|have to) (?:decline|abstain)",
)
_LEAD = (  # "I apologize, but", "As an AI language model,", "Based on the documents,"
    r"(?:(?:i am )?(?:very |so )?(?:sorry|afraid)(?: that)?|apologies|i apologi[sz]e(?: for [^,.]*)?|unfortunately"
    rf"|as an? (?:ai|artificial intelligence|(?:large )?language model)\b[^,.]*|based on {_SOURCES})"
)
_ANSWERED = r"(?![^.]*\bbut (?!i (?:can|could|would|will)\b|if\b|you\b|please\b|feel\b))"
_REFUSAL = re.compile(rf"(?:{_LEAD}\W+(?:but\W+)?)*+(?:{'|'.join(_REFUSALS)})\b{_ANSWERED}", re.DOTALL)
# Whole replies ("the answer" is copied from a form). The second are too short to be one, but refusals in a field.
_NO_ANSWER_AT_ALL = re.compile(
    r"i do not know|n/a|no answer|the answer|(?:(?:the answer|it) is )?(?:unknown|not known|not available)"
)
_EMPTY_FIELD = re.compile(
    rf"""none | null | unanswerable
        | unknown (?:\s*+(?:[.;,]|\((?!\d))|\s++[–—-]) .*
        | (?:it\ is\ )? not\ (?:stated|given|mentioned|found|specified|provided|known|available|(?=in|from|by))
            (?:\ ?(?:in|from|by)\ {_SOURCES} .*)?
        | it\ is\ (?:unknown|not\ known)\b .*
        | (?:it\ |the\ answer\ )? can\ not\ be\ (?:determined|answered|inferred|found)\b .*
        | (?:there\ is\ )? (?:no|not\ enough|insufficient)\ (?:\w+\ )? information\b .*
        | (?:there\ is\ )? no\ answer (?:\ (?:is\ |was\ )?(?:found|given|stated))? (?:\ in\ {_SOURCES})?
    """,
    re.DOTALL | re.VERBOSE,
)

# "Sorry, but" and refusals in other languages: "I do not know", "the documents do not say", "it cannot be told".
_SORRY_ABROAD = (
    r"(?:lo siento|(?:je suis )?désolée?|(?:es )?tut mir leid|mi dispiace|desculpe|przepraszam|извините|к сожалению"
    r"|很?抱歉|对不起|申し訳(?:ありません|ございません)|すみません|죄송(?:합니다|하지만))"
    r"[\W_]*(?:(?:pero|mais|aber|ma|mas|ale|но|但是?|が|만)\b\W*)?"
)
_REFUSALS_ABROAD = (
    r"(?:yo )?no (?:lo )?(?:sé|tengo (?:suficiente )?información|puedo (?:responder|determinar))",
    r"no se (?:menciona|especifica|indica|proporciona|sabe|puede determinar)",
    r"(?:los )?documentos (?:no|não) .*|(?:les )?documents ne .*|(?:i )?documenti non .*|os documentos não .*",
    r"(?:die )?dokumente (?:enthalten|erwähnen|nennen) (?:keine?|nicht)\b.*",
    r"je (?:ne )?(?:le )?sais pas|je n['’]ai pas (?:assez )?d['’]informations?|aucune information",
    r"(?:das )?(?:ich )?weiß (?:ich |es |das )?(?:leider )?nicht|keine (?:angaben?|informationen)",
    r"(?:das|dies|es) (?:wird nicht (?:erwähnt|genannt|angegeben)|ist (?:mir )?(?:nicht bekannt|unbekannt))",
    r"non (?:lo so|è (?:specificato|menzionato|indicato)|ho (?:abbastanza )?informazioni)",
    r"(?:eu )?não (?:sei|tenho informações|é (?:mencionado|informado|possível determinar))",
    r"(?:ik )?weet (?:het )?niet|ik weet het niet|nie wiem|(?:jag )?vet inte|(?:я )?не знаю|нет информации|bilmiyorum",
    r"我?不(?:知道|清楚|确定)|无法(?:确定|回答)|(?:这些|提供的|给出的)?文[档件]中?(?:并?没有|未)(?:提[到及供]|说明|包含)",
    r"(?:文書)?(?:は|には)?(?:わかりません|分かりません|知りません|不明です|記載(?:されていません|がありません))",
    r"(?:잘 )?(?:모르겠습니다|모릅니다|알 수 없습니다)|문서에는? .*없습니다",
    r"لا (?:أعرف|أعلم)",
)


@cache
def _refusal_abroad() -> re.Pattern[str]:  # compiled when it is used, because that takes 8 ms
    return re.compile(
        rf"(?:{_SORRY_ABROAD})?(?:{'|'.join(_REFUSALS_ABROAD)})(?![^\W\u3040-\u9fff\uac00-\ud7af])"
        r"(?!.*(?:\b(?:pero|mais|aber|ma|mas|ale|но)\b|但))",
        re.IGNORECASE,
    )


def without_thoughts(reply: str) -> str:
    """Return `reply` without the reasoning that some models put before it in tags, and without what follows its end."""
    return _END_MARKS.sub("", _NEXT_TURN.sub("", _THOUGHTS.sub("", reply, count=1), count=1)).strip()


def declines(text: str) -> bool:
    """Return whether `text` is empty, the word UNKNOWN, or a refusal, in English or a few other languages."""
    plain = _plain(text)
    return (
        not plain
        or _MARKER.match(plain) is not None
        or _NO_ANSWER_AT_ALL.fullmatch(_expanded(plain.lower())) is not None
        or _REFUSAL.match(_expanded(plain[0].lower() + plain[1:])) is not None
        or _refusal_abroad().match(plain) is not None
    )


def says_unknown(answer: str) -> bool:
    """Return whether the marked or labelled `answer` of a reply says that there is none."""
    return declines(answer) or _EMPTY_FIELD.fullmatch(_expanded(_plain(answer).lower())) is not None


def _plain(text: str) -> str:
    return text.strip()[:_LONGEST_REFUSAL].strip(".… \t\r\n*_\"'“”«»!").replace("**", "")


def _expanded(text: str) -> str:
    """Return `text` without contractions, so that the refusals are written once."""
    for short, long in _SHORT_FORMS:
        text = short.sub(long, text)
    return text


def between(text: str, mark: str) -> list[str]:
    """Return the contents of the blocks `<<<MARK>>> ... <<</MARK>>>` of `text`, in order, stripped.

    Accepts marks with a missing bracket, and the tags `<ANSWER>` and `<PASSAGE>`. An opening mark inside a block
    restarts it. If no block is closed, each ends at the next opening mark or at the end.
    """
    fewest = 1 if mark.lower() in TAGS else 2
    opening = rf"<{{{fewest},3}}\s*{re.escape(mark)}\s*>{{{fewest},3}}"
    closing = rf"<{{1,3}}\s*/\s*{re.escape(mark)}\s*>{{1,3}}"
    cut_short = r"(?:<{1,3}\s*(?:/\s*\w*\s*>{0,2})?\s*)?\Z"
    blocks = _blocks(text, opening, closing) or _blocks(text, opening, rf"(?={opening}|{cut_short})")
    return [content for content in blocks if content]


def _blocks(text: str, opening: str, closing: str) -> list[str]:
    pattern = re.compile(f"{opening}((?:(?!{opening}).)*?){closing}", re.DOTALL | re.IGNORECASE)
    return [content.strip() for content in pattern.findall(text)]


def is_cut(completion: Completion) -> bool:
    """Return whether the reply was cut at the token limit before its answer was complete."""
    if completion.finish != "length" or parse_object(completion.text, "answer"):
        return False
    if _MARKED.search(completion.text):
        return _CLOSING_MARK.search(completion.text) is None
    return labelled_answer(completion.text.rpartition("\n")[0]) is None


def answer_line(value: object) -> str:
    """Return the answer in a field of a reply as `one_line` does, without a note or a disclaimer after it.

    Of LaTeX's \\boxed{...}, only the content counts.
    """
    if isinstance(value, str) and "\\" in value:
        value = _LATEX.sub(r"\1", "".join(_BOXED.findall(value)[-1:]) or value)
    return _REMARK.sub("", one_line(value))


def one_line(value: object) -> str:
    """Return a field of a reply as one line of at most 4,000 characters, without marks; "" if it is not text.

    Joins the items of a list with commas. A boolean becomes yes or no.
    """
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, list):
        value = ", ".join(str(item) for item in value if isinstance(item, str | int | float))
    if not isinstance(value, str | int | float):
        return ""
    line = " ".join(_EMPHASIS.sub("", _MARK.sub(r" \1 ", printable(str(value)))).split()).strip("* ")
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1].rstrip() + "…"


def named_documents(named: object, size: int) -> tuple[tuple[int, ...], int]:
    """Return the numbers of the named documents among `size`, and how many names are invalid.

    A name may be 3, "3", "Doc 3", "1, 3", "1-3" or a list of such.
    """
    found: dict[int, None] = {}
    removed = 0
    for item in named if isinstance(named, list) else [named]:
        numbers = _numbers(item, size)
        valid = [number for number in numbers if 1 <= number <= size]
        found.update(dict.fromkeys(valid))
        removed += len(numbers) - len(valid)
    return tuple(found), removed


def _numbers(item: object, size: int) -> list[int]:
    """Return the numbers in `item`. A name without a number counts as 0, which no document has."""
    if isinstance(item, int | float) and not isinstance(item, bool):
        return [int(item) if item == item // 1 else 0]
    if not isinstance(item, str) or _NONE.match(item):
        return []
    numbers: list[int] = []
    for first, last in _NUMBERS.findall(item):
        start, stop = _bounded(first, size), _bounded(last or first, size)
        numbers += range(start, stop + 1) if 0 < start <= stop <= size else {start, stop}
    return numbers or [0]


def _bounded(digits: str, size: int) -> int:
    return int(digits) if len(digits) < 10 else size + 1


def parse_objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects in `text`, in order: bare, in code fences, within prose or in a JSON string.

    Accepts trailing commas. Returns only the outermost of nested objects, or if that is broken, for example cut, the
    complete ones inside it.
    """
    if string := _FENCED_STRING.match(text):
        with suppress(ValueError):
            text = str(_JSON.raw_decode(text, string.end())[0])
    text = _TRAILING_COMMA.sub(lambda match: match[1] or "", text[max(0, text.find("{")) :][:_LONGEST])
    found: list[dict[str, Any]] = []
    effort, opening = 0, _OBJECT.search(text)
    while opening and effort < _EFFORT:
        try:
            value, end = _JSON.raw_decode(text, opening.start())
            found.append(value)
        except (ValueError, RecursionError) as error:
            effort += getattr(error, "pos", len(text))
            end = opening.end()
        opening = _OBJECT.search(text, end)
    return found


def parse_object(text: str, *keys: str) -> dict[str, Any] | None:
    """Return the last JSON object in `text` that has all of `keys`, or None. See `parse_objects`."""
    return next((found for found in reversed(parse_objects(text)) if found.keys() >= set(keys)), None)


_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})+)")
_LATEX = re.compile(r"\\(?:text|mathrm|textbf|mathbf)\{([^{}]*)\}?")
_MARKED, _CLOSING_MARK = re.compile(r"<<\s*ANSWER\s*>>", re.I), re.compile(r"<<\s*ANSWER\s*>>.*<\s*/", re.I | re.DOTALL)
_REMARKS = r"(?:(?:please\s+)?note\b(?:\s+that\b|\s*[:：])|disclaimer\s*[:：]|n\.b\.|explanation\s*[:：])"
_REMARK = re.compile(rf"(?<=\w)(?:[.!?]?\s*[(\[]|[.!?]\s+)\W*{_REMARKS}.*\Z", re.IGNORECASE)
_REMARK_LINE = re.compile(rf"[\W_]*{_REMARKS}|\W*I hope (?:this|that) helps|\W*let me know\b", re.IGNORECASE)
_FIELD = re.compile(r"""["']answer["']\s*:\s*""", re.IGNORECASE)
_AFTER = r"""\s*(?:,\s*["'][^"'\n]{1,40}["']\s*:|[}\]]|\Z)"""  # the next field or the end
_WITHIN = re.compile(r"""[\w"']""")  # directly after a quote that does not end the value: The "Rough Riders"
_VALUE = re.compile(rf"""(["'])((?:\\.|(?!\1{_AFTER})[^\\])++)\1|([^\s"'\[{{][^"{{}},\n]*+)(?=[}},])""", re.DOTALL)
# Lines of JSON, code fences, and lists of documents without an answer after them.
_NO_ANSWER = re.compile(
    r'\s*+(?:```|<{2,3}[\s/]*+\w*+\s*+\Z|[{}\]]|\[["{\d]|"\w+"\s*:)'
    r"|[^\w\n]*+documents?(?=[^\w\n]*[:：])(?!.*\banswer\b)",
    re.I,
)
_LABELLED = re.compile(
    r"^[^\w\n]*+(?:.*(?:[\d.,;:|\])]|\b(?:so|thus|therefore|and|that))[ \t]++)?"
    r"(?:the[ \t]+)?(?:final[ \t]+)?answer[ \t]*(?:is\b|[*_]*[:：])[\s:：*_]*+(.*\w.*)$",
    re.I | re.M,
)


def final_answer(reply: str) -> str:
    """Return the answer in `reply` as one line: marked, else in JSON, else labelled, else the last line.

    If there are several of a kind, the last one counts. Returns "" if there is none. Does not check for refusals.
    """
    answer = labelled_answer(reply)
    return answer_line("".join(_lines(before_remarks(reply))[-1:])) if answer is None else answer


def labelled_answer(reply: str) -> str | None:
    """Return the answer as `final_answer` does, but None if `reply` has it in no form."""
    if (marked := between(reply, "ANSWER")) or "<<<ANSWER>>>" in reply:
        return answer_line("".join(marked[-1:]))
    if whole := parse_object(reply, "answer") or _broken(reply):
        return answer_line(whole["answer"])
    if _BOXED.search(reply):
        return answer_line(reply)
    labelled = _LABELLED.findall("\n".join(_lines(reply)))
    return answer_line(labelled[-1]) if labelled else None


def before_remarks(reply: str) -> str:
    """Return a reply without the notes and disclaimers at its end."""
    for separator in ("\n\n", "\n"):
        parts = reply.rstrip().split(separator)
        while len(parts) > 1 and _REMARK_LINE.match(parts[-1]):
            del parts[-1]
        reply = separator.join(parts)
    return reply


def _lines(reply: str) -> list[str]:
    """Return the lines of `reply` that have words and are no syntax."""
    return [one_line(line) for line in reply.splitlines() if re.search(r"\w", line) and not _NO_ANSWER.match(line)]


def _broken(reply: str) -> dict[str, Any] | None:
    """Return the last answer in JSON that is cut, has unescaped quotes or uses Python's notation."""
    for field in list(_FIELD.finditer(reply))[-1:]:
        closed = None
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(reply, field.end())
            closed = {"answer": value}
            if not _WITHIN.match(reply, end):
                return closed
        except (ValueError, RecursionError):
            pass
        found = _VALUE.match(reply, field.end())
        return {"answer": found[2] or found[3]} if found else closed
    return None


def final_reply(completion: Completion) -> Completion:
    """Return `completion` without the model's reasoning. Raises CutError if it was cut within the reasoning."""
    text = without_thoughts(completion.text)
    if not text and completion.finish == "length":
        raise CutError
    return dataclasses.replace(completion, text=text)


# Characters of an answer before it is shown: by then `says_unknown` recognises most refusals.
_HELD_BACK = 36
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)("?)|[{}\[\]:,]', re.DOTALL)
_BROKEN_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z|\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


def json_preview(reply: str) -> str:
    """Return the field `answer` of a JSON object that may not be complete yet, "" while it cannot be shown."""
    return showable(_field(without_thoughts(reply), "answer"))


def prose_preview(reply: str) -> str:
    """Return the answer of a reply in prose, "" while it cannot be shown."""
    text = without_thoughts(reply)
    stated = labelled_answer(text)
    return _unless_declining(text if stated is None else stated)


def showable(field: str) -> str:
    """Return a field of a reply as one line if it is long enough to tell that it does not decline, else ""."""
    return _unless_declining(one_line(field))


def _unless_declining(answer: str) -> str:
    return "" if len(answer) < _HELD_BACK or says_unknown(answer) else answer


def _field(text: str, name: str) -> str:
    """Return the text of that field of the outermost object, whole or as far as it is written."""
    depth, key, before = 0, "", ""
    for token in _TOKEN.finditer(text, max(0, text.find("{"))):
        mark = token[0]
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
        elif mark.startswith('"') and depth == 1:
            if before == ":" and key == name:
                return _unescaped(token[1])
            key = token[1]
        before = mark
    return ""


def _unescaped(text: str) -> str:
    try:
        value: str = json.loads(f'"{_BROKEN_ESCAPE.sub("", text)}"', strict=False)
    except ValueError:
        return ""
    return value
