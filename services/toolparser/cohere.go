package toolparser

// newCohere3 reads the calls of Command R7B and Command A:
// <|START_ACTION|>[{"tool_call_id": "0", "tool_name": …, "parameters": {…}}]<|END_ACTION|>.
func newCohere3(r *reader) dialect { return newCohere(r, cohere3Wrappers()) }

// newCohere4 reads the calls of Command A+, whose text has additional tags.
func newCohere4(r *reader) dialect { return newCohere(r, cohere4Wrappers()) }

// Markers before the text of an answer.
const (
	cohere3Text = "<|START_RESPONSE|>"
	cohere4Text = "<|START_TEXT|>"
)

func newCohere(r *reader, drop wrappers) dialect {
	return newJSONCalls(r, &format{
		open: []string{"<|START_ACTION|>"}, end: []string{"<|END_ACTION|>"}, array: true, name: "tool_name", id: "tool_call_id", drop: drop,
	})
}

// cohere3Wrappers returns the wrappers around text and around parts of the text that cite a
// source.
func cohere3Wrappers() wrappers {
	return append(around(cohere3Text, "<|END_RESPONSE|>"), wrapper{text: "<co>", inline: true}, wrapper{text: "</co: ", until: ">", inline: true})
}

func cohere4Wrappers() wrappers {
	return append(around(cohere4Text, "<|END_TEXT|>"), cohere3Wrappers()...)
}

func recognizeCohere3(template string) string { return matchAll(template, "<|START_ACTION|>") }

func recognizeCohere4(template string) string {
	return matchAll(template, "<|START_ACTION|>", cohere4Text)
}
