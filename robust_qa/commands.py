"""The built-in commands, each `command` in the module of its name in `robust_qa.cli`, and the sections of the help."""

COMMANDS = {
    "ask": "Answer one question.",
    "batch": "Answer many questions, one JSON line each.",
    "index": "Index documents for retrieval.",
    "init": "Write a starter configuration.",
    "config": "Show, check and trust configuration files.",
    "plugins": "List, check and create plugins.",
    "keys": "Store API keys.",
    "cache": "Show or clear the cache of finished calls.",
    "history": "Show, search, export or delete earlier answers.",
    "completion": "Print the shell's completion script.",
    "help": "Show a manual page.",
}

SECTIONS = {
    "Ask": ("ask", "batch", "history"),
    "Documents": ("index",),
    "Serve": (),
    "Measure": (),
    "Set up": ("init", "config", "plugins", "keys", "cache", "completion", "help"),
}
SECTION_OF = {name: section for section, names in SECTIONS.items() for name in names}
