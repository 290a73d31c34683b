#!/bin/sh
# Writes the gate's table as a comment on a pull request, over its comment of an earlier run if there is one.
#
#   COMMENT         the file with the text
#   REPOSITORY      owner/name
#   NUMBER          of the pull request
#   GH_TOKEN        for gh
#
# A comment that cannot be written is a warning: the gate's answer is its exit code.
set -u

# GitHub takes no longer ones; the job's summary has all of it. Half a letter at the cut is dropped, which iconv calls
# a failure.
head -c 60000 "$COMMENT" | iconv -c -f UTF-8 -t UTF-8 >"$COMMENT.part" 2>/dev/null
[ -s "$COMMENT.part" ] && mv "$COMMENT.part" "$COMMENT"
# Anybody may begin a comment with those words: only one of its own is written over.
mine='.[] | select(.user.type == "Bot" and (.body | startswith("<!-- etalon gate -->"))) | .id'
# Not in a pipe, which would hide that gh failed and end in a second comment.
if ! ids=$(gh api --paginate "repos/$REPOSITORY/issues/$NUMBER/comments" --jq "$mine"); then
    echo '::warning::the comments of the pull request cannot be read, so none is written'
    exit 0
fi
id=$(printf '%s\n' "$ids" | head -n 1)
if [ -n "$id" ]; then
    gh api --silent --method PATCH "repos/$REPOSITORY/issues/comments/$id" --field "body=@$COMMENT"
else
    gh api --silent --method POST "repos/$REPOSITORY/issues/$NUMBER/comments" --field "body=@$COMMENT"
fi || echo '::warning::the comment was not written: it takes pull-requests with write, which forks lack'
