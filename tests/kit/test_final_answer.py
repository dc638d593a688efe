import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_qa.kit import final_answer

_LINES = "answer: w|Final answer:|```json|<<<ANSWER>>>|<<</ANSWER>>>|{'answer': 1e999|}|The answer is|<<<x>>>"
texts = st.lists(st.one_of(st.sampled_from(_LINES.split("|")), st.text(max_size=9))).map("\n".join)


@given(texts)
def test_no_reply_makes_it_raise_or_give_more_than_a_line(reply: str) -> None:
    answer = final_answer(reply)
    assert len(answer) <= 4000 and "\n" not in answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        # marks count first
        ("Hm.\nDocuments: 2\n<<<ANSWER>>> Jane Austen <<</ANSWER>>> Bye.", "Jane Austen"),
        ("It says <<<ANSWER>>> Mary <<</ANSWER>>>, but\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>", "Jane Austen"),
        ("<<<ANSWER>>> Mary <<</ANSWER>>> no: <<<ANSWER>>> Jane Austen", "Mary"),  # closed blocks count first
        ("<<<ANSWER>>> Jane Austen", "Jane Austen"),
        ("<<<ANSWER>>> **Jane Austen**. <<</ANSWER>>>", "Jane Austen."),
        ("Hm.\n<<ANSWER>> Jane Austen <</ANSWER>>", "Jane Austen"),
        # then the answer of its JSON
        ('Answer: Mary. {"thought": "x", "answer": "Jane Austen"}', "Jane Austen"),
        ('{"thought": "cut", "answer": "Jane \\"A\\" Austen", "documents": [1', 'Jane "A" Austen'),
        ('{"answer": ["Jane", "Mary"]}', "Jane, Mary"),
        ('{"answer": 0}', "0"),
        ('{"answer": "Paris"\n"documents": [1]}', "Paris"),
        ('{"documents": [1], "answer": "Paris", "short reason": "it is "the" capital"}', "Paris"),
        ('{"answer": "Paris", "docu', "Paris"),
        ('{"answer": "He said "hi" to all", "short reason": "x"', 'He said "hi" to all'),
        ('Hm.\n{"answer": null}', ""),
        # then a labelled answer
        ("Some thoughts.\n\n**Final answer:** Jane Austen\nI hope it helps!", "Jane Austen"),
        ("So the answer is Jane Austen\nDocuments: 2", "Jane Austen"),
        ("By document 2, the answer is **Jane Austen**.", "Jane Austen."),
        ("### Answer:\nJane Austen\nBye.", "Jane Austen"),
        ("Documents：1\nFinal answer：Jane Austen\nDocuments：2", "Jane Austen"),
        # then the last plain line
        ("Hm.\nJane Austen\n", "Jane Austen"),
        ("Some thoughts.\nJane Austen\n```\nDocuments: 2", "Jane Austen"),
        ('He wrote it for Julian, in 1968.\n\n"Hey Jude"', '"Hey Jude"'),
        ("[Untitled]", "[Untitled]"),
        ("France has one.\n<<<Paris>>>", "Paris"),
        ('Jane Austen\n{"thought": "cut sho', "Jane Austen"),
        ('Jane Austen\n"documents": [1, 2],\n[1, 2', "Jane Austen"),
        ("", ""),
        ("{", ""),
    ],
)
def test_the_clearest_statement_of_the_answer_counts(reply: str, answer: str) -> None:
    assert final_answer(reply) == answer


@pytest.mark.parametrize("text", ["so ", "<<<", "<<<x", ", ", "\n.", " answer", '"answer":"', "**", "answer: ", "\n"])
def test_a_long_reply_is_read_quickly(text: str) -> None:
    before = time.process_time()
    final_answer("x" + text * (100_000 // len(text)))
    assert time.process_time() - before < 2
