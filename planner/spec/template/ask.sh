#!/bin/sh
# Answers one task. The task's input comes on stdin, the answer goes to stdout.
# $BENCHBATCH_MODEL is the route of the model to ask; $BENCHBATCH_JOB is a JSON
# file with everything else (agent, settings, limits).
#
# This toy needs no network: it knows the answer, and slips now and then, the
# hasty model more often than the careful one. Put the call of your agent here.
set -eu
question=$(cat)
number=$(printf '%s' "$question" | tr -cd '0-9')
slips=16                                            # of 256 answers
if [ "$BENCHBATCH_MODEL" = toy/hasty ]; then slips=64; fi

luck=$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')
if [ "$luck" -lt "$slips" ]; then number=$((number + 1)); fi
if [ $((number % 2)) -eq 0 ]; then echo even; else echo odd; fi
