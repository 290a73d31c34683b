#!/bin/sh
# Holds a store against `etalon gate` in a step of GitHub Actions: annotations on the log, a table in the job's summary, JUnit in a
# file, the table once more for a comment, and the gate's own exit code. Arguments are the gate's: stores and options.
#
#   ETALON          the program (etalon)
#   JUNIT           where the JUnit file goes (etalon-gate.xml)
#   COMMENT         where the comment's text goes (etalon-gate.md)
#
# GitHub sets GITHUB_STEP_SUMMARY and GITHUB_OUTPUT; `exit-code`, `junit` and `comment` are written into the latter.
set -u

etalon=${ETALON:-etalon}
junit=${JUNIT:-etalon-gate.xml}
comment=${COMMENT:-etalon-gate.md}

"$etalon" --quiet gate --format github "$@"
code=$?

"$etalon" --quiet gate --format junit "$@" >"$junit.part" 2>/dev/null
if [ -s "$junit.part" ]; then mv "$junit.part" "$junit"; else rm -f "$junit.part"; junit=; fi

# The first line is how the next run finds its own comment.
{ echo '<!-- etalon gate -->'; "$etalon" --quiet gate --format markdown "$@" 2>&1; } >"$comment"
cat "$comment" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
# After anything else the gate has not looked at a store: the last comment stays.
case $code in 0 | 1 | 4) ;; *) comment= ;; esac

{
    printf 'exit-code=%s\n' "$code"
    printf 'junit=%s\n' "$junit"
    printf 'comment=%s\n' "$comment"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$code"
