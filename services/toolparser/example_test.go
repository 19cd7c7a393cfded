package toolparser_test

import (
	"fmt"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/toolparser"
)

// Example parses a model's text as it arrives and separates text, reasoning and tool calls.
func Example() {
	parser, err := toolparser.Dialects{}.Parser(&inference.ParserOptions{
		Tools: "hermes", ID: func() string { return "abcdefghijklmnopqrstuvwx" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	show := func(pieces []inference.Piece) {
		for _, piece := range pieces {
			switch {
			case piece.Kind == inference.PieceText:
				fmt.Printf("text %q\n", piece.Text)
			case piece.Kind == inference.PieceCall && piece.Call.Name != "":
				fmt.Printf("call %s of %s\n", piece.Call.ID, piece.Call.Name)
			case piece.Kind == inference.PieceCall:
				fmt.Printf("arguments %q\n", piece.Call.Arguments)
			}
		}
	}
	for _, text := range []string{"Let me look.<tool", `_call>{"name": "weather", "arguments": {"city"`, `: "Paris"}}</tool_call>`} {
		pieces, _ := parser.Parse([]byte(text))
		show(pieces)
	}
	show(parser.Finish())
	// Output:
	// text "Let me look."
	// call call_abcdefghijklmnopqrstuvwx of weather
	// arguments "{\"city\""
	// arguments ": \"Paris\"}"
}
