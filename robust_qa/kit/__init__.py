"""For strategy authors: normal forms of answers, citations, quotes, sentences and words.

Nothing here is needed to write a plugin. It is what the built-in strategies share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from ..config.environment import cache_dir as cache_dir
    from ..config.environment import config_dir as config_dir
    from ..config.environment import cores as cores
    from ..config.environment import data_dir as data_dir
    from ..config.files import atomic_write as atomic_write
    from ..config.files import put_in_place as put_in_place
    from ..config.installation import install_hint as install_hint
    from ..config.key import is_loopback as is_loopback
    from ..config.keys import without_keys as without_keys
    from ..errors import did_you_mean as did_you_mean
    from ..errors import disk_hint as disk_hint
    from ..expressions import BUILT_IN as BUILT_IN
    from ..expressions import parse_expression as parse_expression
    from ..prompt import Layout as Layout
    from ..prompt import Prompt as Prompt
    from ..sanitize import UNSEEN as UNSEEN
    from ..sanitize import printable as printable
    from ..sanitize import printable_json as printable_json
    from ..sanitize import single_line as single_line
    from ..sanitize import tidy as tidy
    from ..sanitize import visible as visible
    from ..sanitize import whole_characters as whole_characters
    from ..types import LONGEST_REPLY as LONGEST_REPLY
    from ..types import cells_of as cells_of
    from .asking import ask_each as ask_each
    from .citations import cite as cite
    from .citations import cite_reading as cite_reading
    from .citations import contains_words as contains_words
    from .citations import is_from as is_from
    from .dates import iso_date as iso_date
    from .fusion import fused as fused
    from .language import is_yes_no as is_yes_no
    from .language import language_of as language_of
    from .language import language_of_question as language_of_question
    from .quotes import QUOTES as QUOTES
    from .quotes import cite_quote as cite_quote
    from .quotes import closest_quotes as closest_quotes
    from .quotes import closest_texts as closest_texts
    from .quotes import quote_windows as quote_windows
    from .text import PARAGRAPH as PARAGRAPH
    from .text import STOPWORDS as STOPWORDS
    from .text import UNSPACED as UNSPACED
    from .text import WORD as WORD
    from .text import answer_key as answer_key
    from .text import contains_answer as contains_answer
    from .text import content_terms as content_terms
    from .text import count_words as count_words
    from .text import even_batches as even_batches
    from .text import gold_facts as gold_facts
    from .text import is_row as is_row
    from .text import near_copies as near_copies
    from .text import normalise as normalise
    from .text import sentences as sentences
    from .text import statements as statements
    from .text import term_spans as term_spans
    from .text import with_parts as with_parts
    from .text import with_title as with_title
    from .text import without_mark as without_mark
    from .text import words as words
    from .warnings import PLAIN_TEXT as PLAIN_TEXT
    from .warnings import collected_warnings as collected_warnings
    from .warnings import warn as warn
else:
    __getattr__, __all__ = lazy(__name__)
