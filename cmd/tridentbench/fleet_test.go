package main

import (
	"net"
	"testing"
)

// TestFreeAddresses checks that the addresses that the bench chooses for a trident process differ
// and are free.
func TestFreeAddresses(t *testing.T) {
	a, err := freeAddresses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, address := range []string{a.openAI, a.native, a.profiles} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:"+port(address))
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		_ = l.Close()
		seen[address] = true
	}
	if len(seen) != 3 {
		t.Errorf("the addresses are not three: %v", a)
	}
}
