package inference

// Scoring is the way in which an engine is asked for the log probabilities of given tokens. Higher
// values ask for more precisely these.
type Scoring uint8

// The ways of scoring.
const (
	ScoringNone    Scoring = iota // the engine returns no log probabilities of tokens other than the sampled ones
	ScoringTop                    // those of the likeliest tokens, which may include the given ones
	ScoringAllowed                // those of the likeliest tokens, while only the given ones may be sampled
	ScoringIDs                    // those of the given tokens, by their ids
)

// MaxScoredIDs is the maximum number of tokens whose log probabilities an engine returns by their ids.
// It is vLLM's.
const MaxScoredIDs = 128

// MaxLogprobs is the maximum number of log probabilities that an engine is asked for at one position.
const MaxLogprobs = 1024

// DefaultMaxLogprobs is the maximum number of log probabilities that an engine returns for one
// position, unless it is configured to return more or fewer. It is vLLM's.
const DefaultMaxLogprobs = 20

// Candidates are tokens of which one answers a job. The job generates one token.
type Candidates struct {
	// IDs are the ids of the tokens.
	IDs []int
	// Scoring is the way to ask for their log probabilities.
	Scoring Scoring
	// Most is the number of log probabilities to ask for. It doesn't apply to [ScoringIDs].
	Most int
}
