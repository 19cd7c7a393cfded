package tridentrpc

import (
	"strings"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

func finishReason(f inference.FinishReason) tridentv1.FinishReason {
	switch f {
	case inference.FinishStop:
		return tridentv1.FinishReason_FINISH_REASON_STOP
	case inference.FinishLength:
		return tridentv1.FinishReason_FINISH_REASON_LENGTH
	case inference.FinishToolCalls:
		return tridentv1.FinishReason_FINISH_REASON_TOOL_CALLS
	case inference.FinishContentFilter:
		return tridentv1.FinishReason_FINISH_REASON_CONTENT_FILTER
	case inference.FinishNone:
	}
	return tridentv1.FinishReason_FINISH_REASON_UNSPECIFIED
}

// usage returns nil if the token counts are unknown.
func usage(u *inference.Usage, rec *server.Record) *tridentv1.Usage {
	rec.PromptTokens, rec.CompletionTokens = u.PromptTokens, u.CompletionTokens
	if u.Unknown {
		return nil
	}
	return &tridentv1.Usage{PromptTokens: uint32(u.PromptTokens), CompletionTokens: uint32(u.CompletionTokens)}
}

func tokenLogprobs(tokens []inference.TokenLogprob) []*tridentv1.TokenLogprob {
	if len(tokens) == 0 {
		return nil
	}
	list := make([]*tridentv1.TokenLogprob, len(tokens))
	for i, t := range tokens {
		list[i] = &tridentv1.TokenLogprob{Token: validText([]byte(t.Token)), TokenBytes: []byte(t.Token), Logprob: t.Logprob}
		for _, alt := range t.Top {
			list[i].Top = append(list[i].Top, &tridentv1.TopLogprob{Token: validText([]byte(alt.Token)), TokenBytes: []byte(alt.Token), Logprob: alt.Logprob})
		}
	}
	return list
}

// validText returns bytes as a protobuf string. It replaces invalid UTF-8 by
// U+FFFD.
func validText(b []byte) string { return strings.ToValidUTF8(string(b), "\ufffd") }
