"""Write the filter of the words in a frequency dictionary."""

import sys
from pathlib import Path

from rqa_bm25.english import write

words = [line.split()[0].lower() for line in Path(sys.argv[1]).read_text("utf-8-sig").splitlines()]
negated = "is are was were do does did has have had ca could wo would should must".split()
write([*words, *(f"{word}nt" for word in negated)])
