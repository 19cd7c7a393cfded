// A reader of single values in JSON, for a model's configuration and for sampling
// parameters.
#ifndef BURST_JSON_H
#define BURST_JSON_H

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "failure.h"

namespace burst {

class Json {
 public:
  // Find returns the number, word or string at the path of keys, or nothing if a
  // key is missing or its value is null. Strings are returned as in the source,
  // because the expected keys and values contain no escapes. Invalid JSON before
  // the value is a Failure.
  static std::optional<std::string> Find(std::string_view source, std::initializer_list<std::string_view> path) {
    Json json(source);
    for (std::string_view key : path)
      if (!json.Enter(key)) return std::nullopt;
    std::string value(json.Next() == '"' ? json.Text() : json.Word());
    if (value == "null") return std::nullopt;
    return value;
  }

 private:
  explicit Json(std::string_view source) : rest_(source) {}

  [[noreturn]] static void Fail() { throw Failure(triton::kInvalid, "a parameter isn't valid JSON"); }

  // Next returns the next character that isn't white space.
  char Next() {
    size_t space = rest_.find_first_not_of(" \t\r\n");
    if (space == std::string_view::npos) Fail();
    rest_.remove_prefix(space);
    return rest_.front();
  }

  bool Take(char wanted) {
    if (Next() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void Expect(char wanted) {
    if (!Take(wanted)) Fail();
  }

  // Enter moves to the value of a key in the next object.
  bool Enter(std::string_view key) {
    Expect('{');
    if (Take('}')) return false;
    do {
      bool found = Text() == key;
      Expect(':');
      if (found) return true;
      Skip();
    } while (Take(','));
    return false;
  }

  std::string_view Text() {
    Expect('"');
    for (size_t i = 0; i < rest_.size(); i++) {
      if (rest_[i] == '\\') {
        i++;
      } else if (rest_[i] == '"') {
        return Cut(i, i + 1);
      }
    }
    Fail();
  }

  // Word returns a number, true, false or null.
  std::string_view Word() {
    Next();
    size_t end = rest_.find_first_of(",]} \t\r\n");
    if (end == std::string_view::npos) end = rest_.size();
    if (end == 0) Fail();
    return Cut(end, end);
  }

  std::string_view Cut(size_t size, size_t used) {
    std::string_view cut = rest_.substr(0, size);
    rest_.remove_prefix(used);
    return cut;
  }

  // Skip skips a value of any kind.
  void Skip() {
    int depth = 0;
    do {
      switch (Next()) {
        case '"':
          Text();
          break;
        case '{':
        case '[':
          depth++;
          rest_.remove_prefix(1);
          break;
        case '}':
        case ']':
          depth--;
          rest_.remove_prefix(1);
          break;
        case ',':
        case ':':
          if (depth == 0) Fail();
          rest_.remove_prefix(1);
          break;
        default:
          Word();
      }
    } while (depth > 0);
  }

  std::string_view rest_;
};

}  // namespace burst

#endif
