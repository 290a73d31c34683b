#!/bin/sh
# Writes the gate's table as a comment on a pull request, over its comment of an earlier run if there is one.
#
#   COMMENT         the file with the text
#   REPOSITORY      owner/name
#   NUMBER          of the pull request
#   GH_TOKEN        for gh
set -eu

mine='.[] | select(.body | startswith("<!-- etalon gate -->")) | .id'
id=$(gh api --paginate "repos/$REPOSITORY/issues/$NUMBER/comments" --jq "$mine" | head -n 1)
if [ -n "$id" ]; then
    gh api --silent --method PATCH "repos/$REPOSITORY/issues/comments/$id" --field "body=@$COMMENT"
else
    gh api --silent --method POST "repos/$REPOSITORY/issues/$NUMBER/comments" --field "body=@$COMMENT"
fi
