export ENABLE_TOOL_SEARCH=false
claude -p --allowedTools Bash -- 'Count the letters.'
claude -p --continue --allowedTools Bash -- 'Count the letters again.'
