# Types each argument into an interactive zsh and presses Tab. What is offered goes to the
# file of $HITS as "HIT word", each line's end as "END"; _trident is in the folder of $HOME.
zmodload zsh/zpty
if [[ $1 == inner ]]; then
    PROMPT=
    fpath=($HOME $fpath)
    autoload -Uz compinit
    compinit -u -D
    bindkey '^I' complete-word
    # Every offer ends here. Calls with -A, -D or -O only ask what would match.
    compadd() {
        local word
        local -a hits
        for word in $@; do
            case $word in
            - | --) break ;;
            -[12aCefklnQqU]#[ADO]) builtin compadd "$@"; return ;;
            esac
        done
        builtin compadd -O hits "$@"
        (( $#hits )) && print -rl -- 'HIT '$^hits >>$HITS
        builtin compadd "$@"
    }
    finish() {
        print END >>$HITS
        comppostfuncs=(finish) # it is emptied before it is called
    }
    comppostfuncs=(finish)
    print END >>$HITS
    return
fi
# END comes once more than before.
wait_for() {
    local said
    repeat 200; do
        while zpty -rt z said; do all+=$said; done
        (( $(grep -c '^END$' $HITS) >= $1 )) && return
        sleep 0.05
    done
    print -r -- "no answer: ${(V)all}"
    exit 1
}
: >$HITS
zpty -b z zsh -f -i
zpty -w z "setopt extended_glob; source ${(q)0:A} inner"
integer i=1
wait_for 1
for line; do
    zpty -w -n z "$line"$'\t'
    wait_for $(( ++i ))
    zpty -w -n z $'\C-u'
done
zpty -d z
[[ $all != *(error|not found|_trident:)* ]] || print -r -- "${(V)all}"
