package wire

import (
	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// Usage records the token counts on rec and returns them in OpenAI's form. It returns nil if they
// are unknown.
func Usage(u *inference.Usage, rec *server.Record) *api.CompletionUsage {
	rec.PromptTokens, rec.CompletionTokens = u.PromptTokens, u.CompletionTokens
	if u.Unknown {
		return nil
	}
	usage := &api.CompletionUsage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens,
		TotalTokens: u.PromptTokens + u.CompletionTokens,
	}
	if u.CachedTokens != nil {
		usage.PromptTokensDetails = &api.PromptTokensDetails{CachedTokens: u.CachedTokens}
	}
	return usage
}

// TokenLogprobs returns log probabilities in the form of chats and responses.
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
