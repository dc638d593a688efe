#!/usr/bin/env bash
# Ask your notes from anywhere: notes.sh "When did I last see the dentist?"
# Copy it to a folder of your PATH, and change the next line, or set NOTES.
set -euo pipefail
notes=${NOTES:-~/notes}

# An index of its own, so that your other documents are not asked. New and changed notes are read, the others are not.
export RQA_DATA_DIR=${XDG_DATA_HOME:-~/.local/share}/rqa-notes
"${RQA:-rqa}" -q index "$notes"
exec "${RQA:-rqa}" ask "$@"
