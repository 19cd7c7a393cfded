package wire

import (
	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// Usage records the tokens on rec and returns them as clients read them.
func Usage(u *inference.Usage, rec *server.Record) *api.CompletionUsage {
	rec.PromptTokens, rec.CompletionTokens = u.PromptTokens, u.CompletionTokens
	return &api.CompletionUsage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens,
		TotalTokens: u.PromptTokens + u.CompletionTokens,
	}
}

// TokenLogprobs are log probabilities as clients of chats and responses read them.
func TokenLogprobs(tokens []inference.TokenLogprob) []api.ChatCompletionTokenLogprob {
	list := make([]api.ChatCompletionTokenLogprob, len(tokens))
	for i, t := range tokens {
		top := make([]api.ChatCompletionTopLogprob, len(t.Top))
		for j, alt := range t.Top {
			top[j] = api.ChatCompletionTopLogprob{Token: alt.Token, Logprob: alt.Logprob, Bytes: byteList(alt.Token)}
		}
		list[i] = api.ChatCompletionTokenLogprob{Token: t.Token, Logprob: t.Logprob, Bytes: byteList(t.Token), TopLogprobs: top}
	}
	return list
}

func byteList(s string) []int {
	list := make([]int, len(s))
	for i := range len(s) {
		list[i] = int(s[i])
	}
	return list
}
