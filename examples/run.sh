#!/usr/bin/env bash
# Every example of the README, offline, against the harbour's documents. CI runs it: examples/run.sh [RQA]
set -euo pipefail
rqa=${1:-rqa}
[[ $rqa == */* ]] && rqa=$(cd "$(dirname "$rqa")" && pwd)/$(basename "$rqa")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RQA_CONFIG_DIR=$work/config RQA_DATA_DIR=$work/data RQA_CACHE_DIR=$work/cache

"$rqa" ask --docs harbour "When was the lighthouse at Skerry Point built?"
"$rqa" ask --docs harbour --json "Who was the last keeper?" > "$work/answer.json"

# An index of one's own, then questions without naming the documents again.
"$rqa" index harbour
"$rqa" ask "Who was the engineer of Skerry Point Lighthouse?"

# Passages of one's own, from a pipe.
printf '%s\n' '{"title": "Ferry", "text": "A single crossing costs 4.20."}' | "$rqa" ask --passages - "How much is a crossing?"

# Many questions, one JSON line each; run again, it finds nothing left to do.
"$rqa" batch questions.jsonl -o "$work/answers.jsonl"
"$rqa" batch questions.jsonl -o "$work/answers.jsonl" --resume
test "$(wc -l < "$work/answers.jsonl")" -eq "$(wc -l < questions.jsonl)"

# The notes of one's own from anywhere.
RQA=$rqa NOTES=harbour XDG_DATA_HOME=$work bash notes.sh "Who was the last keeper?" | grep "Joan Pascoe"
