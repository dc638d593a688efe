"""The built-in commands, each `command` in the module of its name in `robust_qa.cli`, and the sections of the help."""

COMMANDS = {
    "ask": "Answer one question.",
    "config": "Show, check and trust configuration files.",
    "plugins": "List plugins, and create and check your own.",
    "keys": "Store API keys.",
    "help": "Show a manual page.",
}

SETTING_UP = ("config", "plugins", "keys", "help")
"""Commands that work with a broken configuration."""

SECTIONS = {
    "Ask": ("ask",),
    "Documents": (),
    "Serve": (),
    "Measure": (),
    "Set up": ("config", "plugins", "keys", "help"),
}
SECTION_OF = {name: section for section, names in SECTIONS.items() for name in names}
