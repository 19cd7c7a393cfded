package main

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritontest"
)

// TestModelsDiffer checks that the command models names the servers whose configuration of a model
// requests aren't encoded for.
func TestModelsDiffer(t *testing.T) {
	fakes := tritontest.NewFakes(t, 3)
	changed := fakes[2].Model("echo")
	changed.Input[0].Name = "PROMPT"
	fakes[2].SetModel("echo", changed)
	cards, err := flagsOf(t, "--triton-endpoint="+strings.Join(fakes.Addresses(), ",")).cards()
	if err != nil {
		t.Fatal(err)
	}
	table := strings.Join(strings.Fields(settingsTable(cards, nil)), " ")
	if want := "echo state READY differs " + fakes[2].Address() + ": another configuration"; !strings.Contains(table, want) || strings.Count(table, "differs") != 1 {
		t.Errorf("the table lacks %q:\n%s", want, table)
	}
}
