package balance

import "github.com/cespare/xxhash/v2"

// Steps of prompts.
const (
	// stepBytes is the length of a step, the unit in which prefixes of prompts are compared:
	// 512 tokens of English. A prefix below it saves less time than a stream costs.
	stepBytes = 2048
	// mostSteps is the maximum number of steps of a prompt that are compared: 512 Ki tokens
	// of English. What follows them doesn't decide between endpoints.
	mostSteps = 1024
)

// A prefixHash identifies a prefix of a prompt with its model, adapter and images. All
// replicas compute the same. It is never 0.
type prefixHash uint64

// hashSteps appends the hashes of the request's prefixes to dst, whose capacity bounds their
// number: that of the first step, of the first two steps and so on. Bytes after the last
// whole step have no hash.
func hashSteps(dst []prefixHash, r *Request) []prefixHash {
	chain := mix(xxhash.Sum64String(r.Model)) ^ xxhash.Sum64String(r.Adapter)
	for _, digest := range r.Images {
		chain = mix(chain) ^ xxhash.Sum64(digest)
	}
	for rest := r.Prompt; len(rest) >= stepBytes && len(dst) < cap(dst); rest = rest[stepBytes:] {
		chain = mix(chain) ^ xxhash.Sum64String(rest[:stepBytes])
		dst = append(dst, prefixHash(max(mix(chain), 1)))
	}
	return dst
}

// mix returns a number in which each bit depends on each bit of h: the last step of
// MurmurHash3 for 64 bits.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
