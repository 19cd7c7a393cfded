CLAUDE_CODE_MAX_RETRIES=0 ANTHROPIC_AUTH_TOKEN=wrong claude -p 'Sort the shelves.' || echo "exit code $?"
export ANTHROPIC_DEFAULT_HAIKU_MODEL=claude-small ANTHROPIC_DEFAULT_SONNET_MODEL=claude-middle ANTHROPIC_DEFAULT_OPUS_MODEL=claude-large
for model in haiku sonnet opus; do claude -p --model $model 'Sort the shelves.'; done
unset ANTHROPIC_AUTH_TOKEN
ANTHROPIC_API_KEY=none claude -p 'Sort the shelves.'
