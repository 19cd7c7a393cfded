unset ANTHROPIC_MODEL ANTHROPIC_DEFAULT_HAIKU_MODEL CLAUDE_CODE_MAX_CONTEXT_TOKENS
export CLAUDE_CODE_AUTO_COMPACT_WINDOW=100000
tools='--tools Read,Edit,Bash --allowedTools Read,Edit,Bash'
for model in haiku sonnet opus; do claude -p $tools --model $model "Sort the boxes of $model."; done
claude -p $tools -- 'Print the words of the boxes.'
