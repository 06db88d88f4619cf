#!/bin/sh
# Grades one answer, which comes on stdin: exit code 0 = pass, 1 = fail, anything
# else = could not be graded. $BENCHBATCH_JOB holds the task with what is expected.
set -eu
answer=$(tr -d ' \n')
expected=$(sed -n 's/.*"expected": *"\([^"]*\)".*/\1/p' "$BENCHBATCH_JOB")
if [ -z "$expected" ]; then echo "the task has no expected answer" >&2; exit 2; fi
[ "$answer" = "$expected" ]
