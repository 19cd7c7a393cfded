claude -p --tools Read,Edit,Bash --allowedTools Read,Edit,Bash -- 'Print the words until the end.'
