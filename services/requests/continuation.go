package requests

import "github.com/trident-inference/trident/services/inference"

// Continuation sets the end of a chat's prompt from the fields add_generation_prompt, which is true if
// it is nil, and continue_final_message. As in vLLM and transformers, a message that is continued
// excludes the start of a new one: the error is an [*inference.Error].
func Continuation(req *inference.Request, addPrompt, continueLast *bool) error {
	req.Closed = addPrompt != nil && !*addPrompt
	req.Continue = continueLast != nil && *continueLast
	if req.Continue && !req.Closed {
		return inference.Invalid("continue_final_message", "continue_final_message needs add_generation_prompt: false")
	}
	return nil
}
