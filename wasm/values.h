// The common code of the bindings: the conversion of values, the thread pool, and cancellation.
#pragma once

#include <emscripten/bind.h>
#include <emscripten/emscripten.h>
#include <emscripten/val.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "text/tokenizer.h"

namespace kinglet {

using emscripten::val;

// Fields are read and set one by one with these few functions. An Embind value object would need
// several times the code, and Embind instantiates its templates again for each length of a name.
[[gnu::noinline]] inline val get(const val& fields, const char* name) { return fields[name]; }

[[gnu::noinline]] inline double number(const val& fields, const char* name) {
  return get(fields, name).as<double>();
}

[[gnu::noinline]] inline std::string text(const val& field) { return field.as<std::string>(); }

[[gnu::noinline]] inline void set(val& fields, const char* name, const val& value) {
  fields.set(name, value);
}

[[gnu::noinline]] inline void set(val& fields, const char* name, double value) {
  set(fields, name, val(value));
}

[[gnu::noinline]] inline void set(val& fields, const char* name, std::string_view value) {
  set(fields, name, val(std::string(value)));
}

[[gnu::noinline]] inline val failure(const Error& error) {
  val fields = val::object();
  set(fields, "code", error_code_name(error.code));
  set(fields, "message", error.message);
  val result = val::object();
  set(result, "error", fields);
  return result;
}

[[gnu::noinline]] inline val success(const val& value) {
  val result = val::object();
  set(result, "value", value);
  return result;
}

[[gnu::noinline]] inline val to_js(const Status& status) {
  return status.ok() ? success(val::null()) : failure(status.error());
}

// JavaScript's numbers are doubles: integers up to 2^53 are converted without loss.
inline double to_number(uint64_t value) { return static_cast<double>(value); }

// Where the next bytes of a file are to be written: { address, bytes }.
[[gnu::noinline]] inline val to_js(const Result<std::span<std::byte>>& room) {
  if (!room.ok()) return failure(room.error());
  val fields = val::object();
  set(fields, "address", to_number(reinterpret_cast<uintptr_t>(room.value().data())));
  set(fields, "bytes", to_number(room.value().size()));
  return success(fields);
}

// Converts to an integer from 0 to T's maximum. Numbers out of this range become the nearest one in
// it, and NaN becomes 0.
template <class T>
T from_number(double value) {
  constexpr auto kMax = static_cast<double>(std::numeric_limits<T>::max());
  if (!(value > 0)) return 0;
  return value >= kMax ? std::numeric_limits<T>::max() : static_cast<T>(value);
}

[[gnu::noinline]] inline uint32_t length(const val& list) {
  return from_number<uint32_t>(number(list, "length"));
}

[[gnu::noinline]] inline std::vector<std::string> texts(const val& list) {
  std::vector<std::string> out;
  for (uint32_t i = 0; i < length(list); ++i) out.push_back(text(list[i]));
  return out;
}

[[gnu::noinline]] inline val to_js(const std::vector<std::string>& texts) {
  val list = val::array();
  for (const std::string& text : texts) list.call<void>("push", text);
  return list;
}

// Copies the array: a view would become invalid when memory grows.
template <class T>
val to_js_array(const char* type, std::span<const T> numbers) {
  return val::global(type).new_(val(emscripten::typed_memory_view(numbers.size(), numbers.data())));
}

// Copies the numbers of a JavaScript array, which must be as many.
template <class T>
void copy_numbers(const val& numbers, std::span<T> target) {
  val(emscripten::typed_memory_view(target.size(), target.data())).call<void>("set", numbers);
}

// Copies a Uint8Array. ErrorCode::out_of_memory, which names `purpose`.
[[gnu::noinline]] inline Result<AlignedBuffer> copy_bytes(const val& bytes,
                                                          std::string_view purpose) {
  KINGLET_ASSIGN(AlignedBuffer copy, AlignedBuffer::allocate(length(bytes), purpose));
  copy_numbers(bytes, copy.as<uint8_t>());
  return copy;
}

inline std::vector<TokenId> to_ids(const val& ids) {
  return emscripten::convertJSArrayToNumberVector<TokenId>(ids);
}

inline val to_js_ids(std::span<const TokenId> ids) { return to_js_array("Int32Array", ids); }

inline val to_js_floats(std::span<const float> numbers) {
  return to_js_array("Float32Array", numbers);
}

// There is one pool per instance, because workers can only start while no call is running.
inline ThreadPool& thread_pool() {
  static ThreadPool pool(from_number<size_t>(val::module_property("nThreads").as<double>()));
  return pool;
}

inline size_t n_pool_threads() { return thread_pool().n_threads(); }

inline val kernel_sets() {
  val names = val::array();
  for (const KernelSet* kernels : available_kernels()) {
    names.call<void>("push", std::string(kernels->name));
  }
  return names;
}

// The ids of the work that is to be cancelled, each at its remainder, so that one does not take
// back another: work that has noticed its cancellation must find it again. A page can write them
// through shared memory while the engine computes.
inline std::array<std::atomic<uint32_t>, 256> cancelled_ids{};

inline void cancel(uint32_t id) { cancelled_ids[id % cancelled_ids.size()] = id; }

inline val cancelled_ids_view() {
  static_assert(sizeof(cancelled_ids[0]) == sizeof(uint32_t));
  return val(emscripten::typed_memory_view(cancelled_ids.size(),
                                           reinterpret_cast<uint32_t*>(cancelled_ids.data())));
}

// When messages could last come in, or JavaScript was last asked whether a work is cancelled; in
// milliseconds.
inline double last_look = 0;

// Called when JavaScript calls the engine: messages have come in just before.
inline void messages_came() { last_look = emscripten_get_now(); }

// Asks JavaScript whether the work is cancelled: five times a second, while no message can come in.
[[gnu::noinline]] inline bool look_for_cancellation(uint32_t id) {
  static uint32_t n_asked = 0;
  if (++n_asked % 16 != 0) return false;  // the clock takes longer than most steps
  const double now = emscripten_get_now();
  if (now - last_look < 200) return false;
  last_look = now;
  if (!val::module_property("isCancelled")(id).as<bool>()) return false;
  cancel(id);
  return true;
}

[[gnu::noinline]] inline Cancellation to_cancellation(double id) {
  messages_came();
  const auto value = from_number<uint32_t>(id);
  const bool can_look = !val::module_property("isCancelled").isUndefined();
  return {&cancelled_ids[value % cancelled_ids.size()], value,
          can_look ? look_for_cancellation : nullptr};
}

// Converts the size of a file as JavaScript passes it: 0 if it is unknown.
inline std::optional<uint64_t> announced(double file_bytes) {
  return file_bytes > 0 ? std::optional(from_number<uint64_t>(file_bytes)) : std::nullopt;
}

}  // namespace kinglet
