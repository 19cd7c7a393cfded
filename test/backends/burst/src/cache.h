// The KV cache of a model with a scheduler. cmd/tridentsim simulates the same cache.
#ifndef BURST_CACHE_H
#define BURST_CACHE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace burst {

// Part is a part of a prompt. Its key identifies it with all parts that precede it.
struct Part {
  uint64_t key = 0;
  int64_t tokens = 0;
};

// Mix returns a number in which each bit depends on each bit of h (the last step of MurmurHash3).
inline uint64_t Mix(uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccd;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53;
  return h ^ h >> 33;
}

// Parts divides a prompt into blocks of tokens of so many bytes each. The last part has the rest.
inline std::vector<Part> Parts(std::string_view prompt, int64_t block_tokens, int64_t token_bytes) {
  std::vector<Part> parts;
  uint64_t key = 0;
  size_t block = static_cast<size_t>(block_tokens * token_bytes);
  for (std::string_view rest = prompt; !rest.empty(); rest.remove_prefix(std::min(block, rest.size()))) {
    std::string_view text = rest.substr(0, block);
    key = Mix(key ^ std::hash<std::string_view>()(text));
    parts.push_back({key, (static_cast<int64_t>(text.size()) + token_bytes - 1) / token_bytes});
  }
  return parts;
}

// KvCache keeps the parts of prompts that no running request uses until their space is needed. Then those are
// removed first that were unused for longest, as in vLLM's prefix cache. Only one thread uses it.
class KvCache {
 public:
  explicit KvCache(int64_t capacity) : capacity_(capacity) {}

  // Matched returns the number of leading parts of a prompt that are in the cache.
  size_t Matched(const std::vector<Part>& parts) const {
    size_t n = 0;
    while (n < parts.size() && blocks_.count(parts[n].key) > 0) n++;
    return n;
  }

  // Full reports whether running requests use more than there is.
  bool Full() const { return used_ > capacity_; }

  // Take marks a block of the cache as used by one more request.
  void Take(uint64_t key) {
    Block& block = blocks_.at(key);
    if (block.users++ > 0) return;
    unused_.erase(block.position);
    unused_tokens_ -= block.tokens;
    used_ += block.tokens;
  }

  // Release marks a block as used by one request less.
  void Release(uint64_t key) {
    Block& block = blocks_.at(key);
    if (--block.users > 0) return;
    used_ -= block.tokens;
    unused_tokens_ += block.tokens;
    block.position = unused_.insert(unused_.end(), key);
  }

  // Reserve counts tokens as used, and removes unused blocks if there is no space. It returns false if running
  // requests use too much.
  bool Reserve(int64_t tokens) {
    if (used_ + tokens > capacity_) return false;
    used_ += tokens;
    while (used_ + unused_tokens_ > capacity_) {
      auto first = blocks_.find(unused_.front());
      unused_tokens_ -= first->second.tokens;
      blocks_.erase(first);
      unused_.pop_front();
    }
    return true;
  }

  // Keep makes a block of tokens that were reserved and computed. If the cache has the block already, the request
  // shares it and its own copy is given back.
  void Keep(const Part& part) {
    used_ -= part.tokens;
    auto [found, added] = blocks_.try_emplace(part.key, Block{part.tokens, 1, {}});
    if (added) {
      used_ += found->second.tokens;
    } else {
      Take(part.key);
    }
  }

  // Drop turns reserved tokens into an unused block that no prompt matches, such as those of an answer.
  void Drop(int64_t tokens) {
    uint64_t key = Mix(++dropped_ ^ 0xa5a5a5a5a5a5a5a5);
    blocks_[key] = Block{tokens, 1, {}};
    Release(key);
  }

 private:
  struct Block {
    int64_t tokens;
    int users;                               // running requests that use it
    std::list<uint64_t>::iterator position;  // in the list of unused blocks; only valid without users
  };

  const int64_t capacity_;     // tokens
  int64_t used_ = 0;           // tokens of running requests
  int64_t unused_tokens_ = 0;  // tokens of blocks without users
  std::unordered_map<uint64_t, Block> blocks_;
  std::list<uint64_t> unused_;  // keys of the blocks without users; the first one is removed first
  uint64_t dropped_ = 0;
};

}  // namespace burst

#endif
