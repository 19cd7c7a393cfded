claude -p 'Sort the books.' || echo "exit code $?"
CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS=1 claude -p 'Sort the books.' || echo "exit code $?"
CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS=1 ENABLE_TOOL_SEARCH=false CLAUDE_CODE_ATTRIBUTION_HEADER=0 claude -p 'Sort the books.' || echo "exit code $?"
