"""Tools for plugins that add commands: the options, output and session of the built-in commands.

To open a session, see `robust_qa.cli.answering`. To answer many questions, see `rqa_rows.running`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from ..serialization import ANSWER_FORMATS as ANSWER_FORMATS
    from ..serialization import ROW_FORMATS as ROW_FORMATS
    from ..serialization import TEXT_FORMATS as TEXT_FORMATS
    from ..serialization import as_json as as_json
    from ..serialization import fields_of as fields_of
    from ..serialization import from_json as from_json
    from ..serialization import suffix_of as suffix_of
    from ..stdout import descriptor as descriptor
    from ..stdout import plugins_write_to_stderr as plugins_write_to_stderr
    from .explaining import explain as explain
    from .live import can_draw as can_draw
    from .options import Answering as Answering
    from .options import FiniteFloat as FiniteFloat
    from .options import KeyValue as KeyValue
    from .options import StoredKey as StoredKey
    from .options import answering_options as answering_options
    from .options import engine_option as engine_option
    from .options import filter_options as filter_options
    from .options import history_option as history_option
    from .options import jobs_option as jobs_option
    from .options import output_option as output_option
    from .options import passages_in as passages_in
    from .options import read_without as read_without
    from .options import reading_options as reading_options
    from .options import retrieval_options as retrieval_options
    from .options import with_options as with_options
    from .output import complain as complain
    from .output import console as console
    from .output import cost_line as cost_line
    from .output import marked_answer as marked_answer
    from .output import print_answer as print_answer
    from .output import print_data as print_data
    from .output import print_source as print_source
    from .output import print_sources as print_sources
    from .output import print_to as print_to
    from .output import print_wrapped as print_wrapped
    from .output import say as say
    from .output import summarised as summarised
    from .progress import indexing_progress as indexing_progress
    from .run import Run as Run
    from .run import pass_run as pass_run
else:
    __getattr__, __all__ = lazy(__name__)
