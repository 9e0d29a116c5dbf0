#!/usr/bin/env bash
# Stands for a program: writes its name and arguments to the file $WORDS, does what $ANSWER says,
# and fails if this is the call number $FAIL_AT.
{ printf '%s' "${0##*/}"; printf ' [%s]' "$@"; echo; } >>"$WORDS"
eval "${ANSWER-}"
[[ ${FAIL_AT-} != "$(wc -l <"$WORDS")" ]]
