"""The command `rqa report`: tables and pages of evaluation runs."""
