// An engine with continuous batching. It works like vLLM's, without the model.
#ifndef BURST_ENGINE_H
#define BURST_ENGINE_H

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cuda.h"
#include "failure.h"
#include "metrics.h"
#include "request.h"
#include "scheduler.h"
#include "statistics.h"

namespace burst {

// Settings are the parameters of a model's configuration.
struct Settings {
  std::vector<std::string> words;  // words of each response, repeated; each word is an element of a BYTES tensor
  std::chrono::microseconds pace{0};
  bool counts = false;       // each token is the prompt, the id and its number instead
  bool gpu = false;          // outputs are allocated in a GPU's memory
  bool mislabelled = false;  // outputs are reported as a GPU's memory but are not
  bool ensemble = false;     // the contract is that of TensorRT-LLM's ensemble instead of vLLM's
  std::string model;         // name of the model, for metrics
  Steps steps;               // constants of the scheduler, if the model has one
};

// Number returns the single element of a UINT32 tensor.
inline std::string_view Number(const uint32_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// Element returns a string as an element of a BYTES tensor: its length and its bytes.
inline std::string Element(std::string_view text) {
  uint32_t length = static_cast<uint32_t>(text.size());
  std::string element(Number(length));
  return element.append(text);
}

// Sequence is a request in flight. It owns the request and releases it before the last
// response. So a client that has the last response sees the request in the statistics.
class Sequence : public Work {
 public:
  // If it throws, it hasn't taken ownership of the request.
  Sequence(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, const Steps& steps)
      : ask(Ask::Of(request, steps.token_bytes)), instance_(instance), request_(request), began_(Nanoseconds()) {
    if (steps.cache_tokens > 0) {
      parts = Parts(ask.prompt, steps.block_tokens, steps.token_bytes);
      prompt = target = std::max<int64_t>(ask.prompt_tokens, 1);
      if (ask.max_tokens > steps.cache_tokens - prompt)
        throw Failure(triton::kInvalid, "the prompt and the answer don't fit into the cache");
    }
    Must(TRITONBACKEND_ResponseFactoryNew(&factory, request));
  }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  ~Sequence() { LogIf(TRITONBACKEND_ResponseFactoryDelete(factory)); }

  bool Cancelled() const {
    bool cancelled = false;
    Must(TRITONBACKEND_ResponseFactoryIsCancelled(factory, &cancelled));
    return cancelled;
  }

  // Release counts the request once, and releases it.
  void Release(bool success) {
    if (request_ == nullptr) return;
    Count(instance_, request_, success, began_);
    LogIf(TRITONBACKEND_RequestRelease(request_, triton::kReleaseAll));
    request_ = nullptr;
  }

  const Ask ask;
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  int64_t tokens = 0;  // number of generated tokens
  bool ended = false;  // set for the engine's scheduler

 private:
  TRITONBACKEND_ModelInstance* const instance_;
  TRITONBACKEND_Request* request_;
  const uint64_t began_;
};

// Engine has one thread, which generates one token for each sequence in every step, or the tokens of the scheduler's
// steps.
class Engine {
 public:
  explicit Engine(const Settings& settings)
      : settings_(settings),
        cuda_(settings.gpu ? new Cuda : nullptr),
        counts_(settings.steps.cache_tokens > 0 ? new Counts(settings.model) : nullptr),
        thread_(settings.steps.cache_tokens > 0 ? &Engine::RunScheduled : &Engine::Run, this) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Ends the thread. Triton deletes an engine when all of its requests have ended.
  ~Engine() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  // Add queues a request for the next step. If it throws, it hasn't taken ownership of the request.
  void Add(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request) {
    auto sequence = std::make_unique<Sequence>(instance, request, settings_.steps);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      arrivals_.push_back(std::move(sequence));
    }
    wake_.notify_one();
  }

 private:
  using Batch = std::vector<std::unique_ptr<Sequence>>;

  void Run() {
    Batch batch;
    Clock::time_point next = Clock::now();
    while (Admit(&batch, &next)) {
      batch.erase(std::remove_if(batch.begin(), batch.end(), [this](auto& sequence) { return Step(sequence.get()); }),
                  batch.end());
      // Steps are at fixed times. An engine that is late doesn't catch up.
      next = std::max(next + settings_.pace, Clock::now());
    }
  }

  // Admit waits until the next step is due and adds the arrived sequences to the batch.
  // It returns false at the end.
  bool Admit(Batch* batch, Clock::time_point* next) {
    if (!batch->empty() && settings_.pace.count() > 0) std::this_thread::sleep_until(*next);
    std::unique_lock<std::mutex> lock(mutex_);
    if (batch->empty()) {
      wake_.wait(lock, [this] { return stop_ || !arrivals_.empty(); });
      *next = Clock::now();
    }
    std::move(arrivals_.begin(), arrivals_.end(), std::back_inserter(*batch));
    arrivals_.clear();
    return !batch->empty();
  }

  // RunScheduled runs the steps of a scheduler. A step that ends late shortens the next one, so that all steps together
  // take the time that they should.
  void RunScheduled() {
    Scheduler scheduler(settings_.steps);
    Batch batch;
    Clock::time_point now = Clock::now();
    while (true) {
      size_t known = batch.size();
      if (!Admit(&batch, &now)) return;
      for (size_t i = known; i < batch.size(); i++) scheduler.Enqueue(batch[i].get());
      for (auto& sequence : batch)
        if (sequence->tokens == 0 && sequence->Cancelled()) {
          scheduler.Remove(sequence.get());
          sequence->ended = Step(sequence.get());
        }
      now += scheduler.Begin();
      counts_->prompt.Set(scheduler.prompt_tokens);
      counts_->cached.Set(scheduler.cached_tokens);
      std::this_thread::sleep_until(now);
      scheduler.End([this](Work* work) {
        auto* sequence = static_cast<Sequence*>(work);
        return sequence->ended = Step(sequence);
      });
      batch.erase(std::remove_if(batch.begin(), batch.end(), [](auto& sequence) { return sequence->ended; }),
                  batch.end());
    }
  }

  // Step generates a token. It returns true if the sequence has ended.
  bool Step(Sequence* sequence) {
    bool ended = true;
    TRITONSERVER_Error* error = Guarded([&] { ended = Make(sequence); });
    if (error != nullptr) Fail(sequence, error);
    return ended;
  }

  bool Make(Sequence* sequence) {
    if (sequence->Cancelled()) {
      sequence->Release(false);
      Must(TRITONBACKEND_ResponseFactorySendFlags(sequence->factory, triton::kFinal));
      return true;
    }
    bool last = ++sequence->tokens == sequence->ask.max_tokens;
    if (last || sequence->ask.stream) Respond(sequence, last);
    return last;
  }

  // Respond sends the newest token, or all tokens if the request isn't a streaming one.
  void Respond(Sequence* sequence, bool last) {
    const Ask& ask = sequence->ask;
    TRITONBACKEND_Response* response = nullptr;
    Must(TRITONBACKEND_ResponseNewFromFactory(&response, sequence->factory));
    try {
      uint32_t tokens = ask.stream ? 1 : static_cast<uint32_t>(sequence->tokens);
      if (ask.stream) {
        Put(response, "text_output", triton::kBytes, Word(*sequence, sequence->tokens - 1));
      } else {
        Put(response, "text_output", triton::kBytes, Answer(*sequence));
      }
      if (ask.finish_reason) Put(response, "finish_reason", triton::kBytes, last ? kLength : kNone);
      int type = settings_.ensemble ? triton::kInt32 : triton::kUint32;
      if (ask.input_tokens) Put(response, "num_input_tokens", type, Number(ask.prompt_tokens));
      if (ask.output_tokens) Put(response, "num_output_tokens", type, Number(tokens));
      if (ask.sequence_index) Put(response, "sequence_index", type, Number(kZero));
      if (ask.batch_index) Put(response, "batch_index", type, Number(kZero));
    } catch (...) {
      LogIf(TRITONBACKEND_ResponseDelete(response));
      throw;
    }
    if (last) sequence->Release(true);
    Must(TRITONBACKEND_ResponseSend(response, last ? triton::kFinal : triton::kMore, nullptr));
  }

  // Put creates an output of one element.
  void Put(TRITONBACKEND_Response* response, const char* name, int type, std::string_view element) {
    const int64_t shape[] = {1, 1};  // the ensemble has a batch dimension
    TRITONBACKEND_Output* output = nullptr;
    Must(TRITONBACKEND_ResponseOutput(response, &output, name, type, shape, settings_.ensemble ? 2 : 1));
    void* buffer = nullptr;
    int memory = cuda_ != nullptr ? triton::kDeviceMemory : triton::kHostMemory;
    int64_t memory_id = 0;
    Must(TRITONBACKEND_OutputBuffer(output, &buffer, element.size(), &memory, &memory_id));
    if (cuda_ != nullptr) {
      cuda_->Copy(element.data(), element.size(), buffer);
    } else if (memory == triton::kDeviceMemory) {
      throw Failure(triton::kUnsupported, "Triton wants an output in a GPU's memory: set output_memory to GPU");
    } else {
      std::memcpy(buffer, element.data(), element.size());
    }
    if (settings_.mislabelled) Mislabel(output);
  }

  static void Mislabel(TRITONBACKEND_Output* output) {
    TRITONSERVER_BufferAttributes* attributes = nullptr;
    Must(TRITONBACKEND_OutputBufferAttributes(output, &attributes));
    Must(TRITONSERVER_BufferAttributesSetMemoryType(attributes, triton::kDeviceMemory));
  }

  // Fail ends and frees a sequence with an error.
  void Fail(Sequence* sequence, TRITONSERVER_Error* error) {
    TRITONBACKEND_Response* response = nullptr;
    sequence->Release(false);
    LogIf(TRITONBACKEND_ResponseNewFromFactory(&response, sequence->factory));
    if (response != nullptr) LogIf(TRITONBACKEND_ResponseSend(response, triton::kFinal, error));
    TRITONSERVER_ErrorDelete(error);
  }

  // Word returns a token as an element, valid until the next call. Only one thread
  // calls it.
  const std::string& Word(const Sequence& sequence, int64_t index) {
    if (!settings_.counts) return settings_.words[index % settings_.words.size()];
    return counted_ = Element(" " + sequence.ask.prompt + "@" + sequence.ask.id + "/" + std::to_string(index));
  }

  std::string Answer(const Sequence& sequence) {
    std::string text = sequence.ask.exclude_input ? "" : sequence.ask.prompt;
    for (int64_t i = 0; i < sequence.tokens; i++) text.append(Word(sequence, i), sizeof(uint32_t));
    return Element(text);
  }

  // Counts are the metrics of a scheduler.
  struct Counts {
    explicit Counts(const std::string& model)
        : prompt(model, "burst_prompt_tokens_total", "Tokens of the prompts that were started."),
          cached(model, "burst_cached_tokens_total", "Tokens of these prompts that were in the prefix cache.") {}
    Counter prompt, cached;
  };

  static constexpr uint32_t kZero = 0;
  static constexpr std::string_view kNone{"\4\0\0\0None", 8};
  static constexpr std::string_view kLength{"\6\0\0\0length", 10};

  const Settings settings_;
  std::string counted_;
  const std::unique_ptr<Cuda> cuda_;
  const std::unique_ptr<Counts> counts_;  // of a model with a scheduler
  std::mutex mutex_;
  std::condition_variable wake_;
  Batch arrivals_;
  bool stop_ = false;
  std::thread thread_;  // last, because the thread uses the other members
};

}  // namespace burst

#endif
