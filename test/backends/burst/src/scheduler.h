// The scheduler of a model that works like vLLM, with a prefix cache. cmd/tridentsim simulates the same scheduler.
#ifndef BURST_SCHEDULER_H
#define BURST_SCHEDULER_H

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "cache.h"

namespace burst {

// Steps are the scheduler's constants. Without a cache a model has no scheduler.
struct Steps {
  int64_t cache_tokens = 0;    // size of the KV cache
  int64_t block_tokens = 0;    // tokens of a block, in which prompts are cached
  int64_t token_bytes = 0;     // bytes of a token of a prompt
  int64_t batch_tokens = 0;    // maximum number of tokens of a step
  int64_t batch_requests = 0;  // maximum number of running requests
  double step_us = 0;          // time of a step
  double prompt_us = 0;        // additional time for each token of a prompt that the step computes
  double context_us = 0;       // additional time for each token of the contexts of streams
  double time_factor = 1;      // factor of all times
};

// Work is the state of a request at the scheduler.
struct Work {
  std::vector<Part> parts;
  int64_t prompt = 0;     // tokens of the prompt
  int64_t target = 0;     // tokens to compute before the next one: the prompt, after a preemption with the answer
  int64_t computed = 0;   // tokens that were computed
  int64_t own = 0;        // tokens in the cache that aren't in blocks
  int64_t generated = 0;  // tokens of the answer
  int64_t step = 0;       // tokens of the current step
  size_t blocks = 0;      // number of leading parts whose blocks the request uses
  bool counted = false;   // the request is in the scheduler's counts
};

// Scheduler decides in which step a request gets its next token, and how long steps take. In each step all streams
// get a token, and prompts are computed with the rest of the step's tokens. Requests wait in the order of their
// arrival until there is space in the cache. Only one thread uses it.
class Scheduler {
 public:
  explicit Scheduler(const Steps& steps) : steps_(steps), cache_(steps.cache_tokens) {}

  void Enqueue(Work* work) { waiting_.push_back(work); }

  // Begin begins a step and returns its duration, or 0 if there is nothing to do.
  std::chrono::nanoseconds Begin() {
    int64_t budget = steps_.batch_tokens, prompts = 0, contexts = 0;
    bool preempted = false;
    for (size_t i = 0; i < running_.size(); i++) {
      Work* work = running_[i];
      work->step = 0;
      if (work->computed < work->target) {
        work->step = std::min(budget, work->target - work->computed);
        budget -= work->step;
        prompts += work->step;
        continue;
      }
      if (budget == 0) continue;
      while (running_.size() > i && !cache_.Reserve(1)) {
        Preempt();
        preempted = true;
      }
      if (running_.size() <= i) break;  // the request itself was preempted
      work->step = 1;
      work->own++;
      budget--;
      contexts += work->prompt + work->generated;
    }
    if (!preempted) prompts += Admit(budget);
    if (running_.empty()) return std::chrono::nanoseconds(0);
    double us = steps_.step_us + steps_.prompt_us * static_cast<double>(prompts) +
                steps_.context_us * static_cast<double>(contexts);
    return std::chrono::nanoseconds(static_cast<int64_t>(us * steps_.time_factor * 1000));
  }

  // End ends a step. It calls token for each request that gets a token; the function returns true if that was the
  // last one.
  template <typename Function>
  void End(Function token) {
    std::vector<Work*> kept;
    for (Work* work : running_) {
      if (work->step > 0 && Advance(work)) {
        work->generated++;
        if (token(work)) {
          Leave(work);
          continue;
        }
      }
      kept.push_back(work);
    }
    running_ = std::move(kept);
  }

  // Remove removes a request that was cancelled.
  void Remove(Work* work) {
    auto waiting = std::find(waiting_.begin(), waiting_.end(), work);
    if (waiting != waiting_.end()) {
      waiting_.erase(waiting);
      return;
    }
    running_.erase(std::remove(running_.begin(), running_.end(), work), running_.end());
    Leave(work);
  }

  // Tokens of the prompts that were started, and how many of them were in the cache.
  int64_t prompt_tokens = 0, cached_tokens = 0;

 private:
  // Admit starts waiting requests within a budget of tokens, and returns the number of prompt tokens that they compute
  // in this step.
  int64_t Admit(int64_t budget) {
    int64_t prompts = 0;
    while (!waiting_.empty() && budget > 0 && static_cast<int64_t>(running_.size()) < steps_.batch_requests) {
      Work* work = waiting_.front();
      int64_t cached = 0;
      for (size_t hits = cache_.Matched(work->parts); work->blocks < hits; work->blocks++) {
        cache_.Take(work->parts[work->blocks].key);
        cached += work->parts[work->blocks].tokens;
      }
      cached = std::min(cached, work->target - 1);  // the last token is always computed
      if (cache_.Full() || !cache_.Reserve(work->target - cached)) {
        ReleaseBlocks(work);
        break;
      }
      work->computed = cached;
      work->own = work->target - cached;
      if (!work->counted) {
        prompt_tokens += work->prompt;
        cached_tokens += cached;
      }
      work->counted = true;
      work->step = std::min(budget, work->target - cached);
      budget -= work->step;
      prompts += work->step;
      running_.push_back(work);
      waiting_.pop_front();
    }
    return prompts;
  }

  // Advance ends a request's part of a step. It returns true if the request gets a token.
  bool Advance(Work* work) {
    if (work->computed == work->target) return true;
    work->computed += work->step;
    KeepBlocks(work);
    return work->computed == work->target;
  }

  // Preempt returns the request that was started last to the queue. Its prompt and its answer so far are computed
  // again.
  void Preempt() {
    Work* work = running_.back();
    running_.pop_back();
    Leave(work);
    work->target = work->prompt + work->generated;
    waiting_.push_front(work);
  }

  // KeepBlocks makes blocks of the parts of a prompt that were computed.
  void KeepBlocks(Work* work) {
    int64_t tokens = 0;
    for (size_t i = 0; i < work->parts.size(); i++) {
      tokens += work->parts[i].tokens;
      if (i < work->blocks) continue;
      if (tokens > work->computed) return;
      cache_.Keep(work->parts[i]);
      work->blocks++;
      work->own -= work->parts[i].tokens;
    }
  }

  // Leave releases the space of a request. The end of a prompt is removed from the cache before its beginning.
  void Leave(Work* work) {
    if (work->own > 0) cache_.Drop(work->own);
    work->own = 0;
    ReleaseBlocks(work);
  }

  void ReleaseBlocks(Work* work) {
    while (work->blocks > 0) cache_.Release(work->parts[--work->blocks].key);
  }

  const Steps steps_;
  KvCache cache_;
  std::deque<Work*> waiting_;
  std::vector<Work*> running_;
};

}  // namespace burst

#endif
