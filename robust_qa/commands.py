"""The built-in commands. Each is `command` in the module of its name in `robust_qa.cli`."""

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
