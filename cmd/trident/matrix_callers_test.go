package main

// caller is a kind of client.
type caller struct {
	name, key string
	// lets tells whether the server lets it in at all.
	lets bool
}

func callers() []caller {
	return []caller{
		{"without a key", "", false},
		{"with a wrong key", "sk-wrong", false},
		{"with an expired key", "sk-expired", false},
		{"with a key for a model", "sk-some", true},
		{"with a key", "sk-all", true},
	}
}
