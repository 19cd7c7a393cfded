package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// TestEncoderFigures checks the figures and the table of two rounds of the encoders: ratios are
// those of the same round, and a peer is compared with Trident.
func TestEncoderFigures(t *testing.T) {
	var infinity, other encoderPeer
	for text, peer := range map[string]*encoderPeer{"infinity": &infinity, "tei=http://127.0.0.1:1/v1/embeddings": &other} {
		if err := peer.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := new(encoderPeer).UnmarshalText([]byte("tei")); err == nil {
		t.Error("a peer without a URL is accepted")
	}
	b := &encoderBench{encodersCommand: &encodersCommand{Clients: []int{1, 16}, Peer: []encoderPeer{infinity, other}}}
	for round, loop := range []float64{100, 200} { // texts/s of the loop
		for _, clients := range b.Clients {
			b.runs = append(b.runs,
				encoderRun{Round: round, Column: colDirect, Clients: clients, Kind: "mixed", Texts: 1000, Seconds: 1000 / loop, P50: 4, P99: 10},
				encoderRun{Round: round, Column: colRemote, Clients: clients, Kind: "mixed", Format: "base64", Texts: 1000, Seconds: 1250 / loop, P50: 5, P99: 12, Padding: 0.05},
				encoderRun{Round: round, Column: infinity.column(), Clients: clients, Kind: "mixed", Format: "base64", Texts: 1000, Seconds: 2500 / loop, P50: 6, P99: 14},
				encoderRun{Round: round, Column: colRemote, Clients: clients, Kind: "own", Format: "base64", Texts: 1000, Seconds: 1, CPU: 150},
				encoderRun{Round: round, Column: colRemote, Clients: clients, Kind: "own", Format: "float", Texts: 1000, Seconds: 1, CPU: 150 + 0.05*dimensions},
			)
		}
		b.runs = append(b.runs, encoderRun{Round: round, Column: colTokenizer, Clients: 1, Kind: "own", Texts: 1000, Seconds: 1, CPU: 50})
	}
	want := map[string]struct {
		value float64
		met   bool
	}{
		"texts/s ÷ loop, 16 clients":                      {0.8, false},
		"texts/s ÷ " + infinity.column() + ", 16 clients": {2, true},
		"padding, 16 clients":                             {5, true},
		"p99 ÷ loop, 1 client":                            {1.2, false},
		"CPU of a request with a text of 100 tokens, base64, without tokenization": {100, true},
		"CPU of each number as JSON": {0.05, true},
	}
	figures := b.figures()
	for i := range figures {
		f := &figures[i]
		if w, ok := want[f.Name]; !ok || math.Abs(f.Value.Median-w.value) > 1e-9 || f.met() != w.met || f.Value.Rounds != 2 {
			t.Errorf("%s: %+v, met %t, want %+v", f.Name, f.Value, f.met(), w)
		}
		delete(want, f.Name)
	}
	if len(want) > 0 {
		t.Errorf("figures are missing: %v", want)
	}
	var text bytes.Buffer
	b.columns().markdown(&text)
	for _, row := range []string{
		"| 16 | " + colDirect + " | 150.0 | 1.00 | 4.0 | 10.0 | 0.0 % |", "| 16 | " + colRemote + " | 120.0 | 0.80 | 5.0 | 12.0 | 5.0 % |",
		"| 1 | " + infinity.column() + " | 60.0 | 0.40 | 6.0 | 14.0 |",
	} {
		if !strings.Contains(text.String(), row) {
			t.Errorf("no row %q in\n%s", row, text.String())
		}
	}
}
