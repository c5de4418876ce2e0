#!/bin/bash
# complete.bash COMMAND WORD...: what bash would offer for this command line with the cursor at the end of its last word, one a line.
set -u
# shellcheck disable=SC1090 # what the command prints
source <("$1" completion bash)
compopt() { :; } # is for a completion that is under way
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
_fairway
printf '%s\n' "${COMPREPLY[@]}"
