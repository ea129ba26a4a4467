// Files before they are loaded: which ones of a repository on the hub to load, what is in a file,
// and how much memory its model will take. engine.d.ts describes what is bound here.
#include <emscripten/bind.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/utf8.h"
#include "gguf/file.h"
#include "gguf/split.h"
#include "hub/repository.h"
#include "model/embedding_table.h"
#include "session/language_model.h"
#include "session/memory_plan.h"
#include "session/speed_estimate.h"
#include "tensor/dtype.h"
#include "wasm/session.h"
#include "wasm/values.h"

namespace kinglet {
namespace {

// Longer arrays are cut: those of vocabularies have hundreds of thousands of elements.
constexpr uint64_t kMostShown = 8;

val to_js(const MetadataValue& value) {
  if (const auto text = value.as_string()) return val(replace_ill_formed(*text));
  if (const auto flag = value.as_bool()) return val(*flag);
  if (const auto number = value.as_uint()) return val(to_number(*number));
  if (const auto number = value.as_int()) return val(static_cast<double>(*number));
  return val(value.as_float().value_or(0));
}

val to_js(const MetadataArray& array) {
  val shown = val::array();
  if (array.element_type() == ValueType::array) return shown;
  array.for_each([&](uint64_t i, const MetadataValue& element) {
    if (i < kMostShown) shown.call<void>("push", to_js(element));
  });
  return shown;
}

val to_js(const MetadataEntry& entry) {
  val fields = val::object();
  set(fields, "key", replace_ill_formed(entry.key));
  const auto array = entry.value.as_array();
  set(fields, "value", array ? to_js(*array) : to_js(entry.value));
  if (array) set(fields, "length", to_number(array->size()));
  return fields;
}

val to_js(const TensorInfo& tensor) {
  val fields = val::object();
  set(fields, "name", replace_ill_formed(tensor.name));
  set(fields, "type", dtype_info(tensor.type).name);
  val shape = val::array();
  const auto rest = std::find_if(tensor.shape.rbegin(), tensor.shape.rend() - 1,
                                 [](uint64_t dim) { return dim != 1; });
  for (auto dim = tensor.shape.begin(); dim != rest.base(); ++dim) {
    shape.call<void>("push", to_number(*dim));
  }
  set(fields, "shape", shape);
  set(fields, "bytes", to_number(tensor.bytes));
  return fields;
}

class EngineHeader {
 public:
  explicit EngineHeader(GgufFile outline) : outline_(std::move(outline)) {}

  bool is_part() const {
    const auto split = read_split(outline_.header());
    return split.ok() && split.value().n_parts > 1;
  }

  double file_bytes() const { return to_number(outline_.file_bytes()); }

  double stored_bytes() const { return to_number(outline_.stored_bytes()); }

  double room_bytes() const { return to_number(outline_.room_bytes()); }

  val describe() const {
    const GgufHeader& header = outline_.header();
    val metadata = val::array();
    for (const MetadataEntry& entry : header.metadata) metadata.call<void>("push", to_js(entry));
    std::vector<TensorInfo> tensors = header.tensors;
    std::sort(tensors.begin(), tensors.end(),
              [](const TensorInfo& a, const TensorInfo& b) { return a.offset < b.offset; });
    val list = val::array();
    for (const TensorInfo& tensor : tensors) list.call<void>("push", to_js(tensor));
    val fields = val::object();
    set(fields, "version", header.version);
    set(fields, "metadata", metadata);
    set(fields, "tensors", list);
    return fields;
  }

  val plan(const std::string& kernels, double n_threads, const val& options) {
    const auto planned = planned_with(kernels, from_number<size_t>(n_threads), options);
    if (!planned.ok()) return failure(planned.error());
    const MemoryPlan& plan = planned.value();
    val fields = val::object();
    set(fields, "nCtx", plan.session.n_ctx);
    set(fields, "kv", to_js_kinds(plan.session.k_kind, plan.session.v_kind));
    set(fields, "weightBytes", to_number(plan.weights));
    set(fields, "stateBytes", to_number(plan.session.kv + plan.session.recurrent));
    set(fields, "scratchBytes", to_number(plan.session.scratch + plan.encoder));
    return success(fields);
  }

  val estimate_speed(const std::string& kernels, bool chooses_threads) {
    const auto estimated = speed_with(kernels, chooses_threads);
    if (!estimated.ok()) return failure(estimated.error());
    val fields = val::object();
    set(fields, "nThreads", to_number(estimated.value().n_threads));
    set(fields, "tokenSeconds", estimated.value().token_seconds);
    set(fields, "promptSeconds", estimated.value().prompt_seconds);
    return success(fields);
  }

 private:
  Result<MemoryPlan> planned_with(const std::string& name, size_t n_threads, const val& fields) {
    KINGLET_ASSIGN(const KernelSet* const kernels, choose_kernels(name));
    KINGLET_ASSIGN(const SequenceOptions options, to_session_options(fields));
    return plan_memory(std::move(outline_), *kernels, n_threads, options);
  }

  Result<SpeedEstimate> speed_with(const std::string& name, bool chooses_threads) {
    KINGLET_ASSIGN(const KernelSet* const kernels, choose_kernels(name));
    return kinglet::estimate_speed(std::move(outline_), *kernels, thread_pool(), chooses_threads);
  }

  GgufFile outline_;
};

val read_header(const val& beginning, double file_bytes, const std::string& tables) {
  auto copy = copy_bytes(beginning, "the header");
  if (!copy.ok()) return failure(copy.error());
  uint64_t needed = 0;
  auto outline = GgufFile::outline(std::move(copy.value()), announced(file_bytes),
                                   stored_tables(tables), &needed);
  if (outline.ok()) return success(val(std::make_shared<EngineHeader>(std::move(outline.value()))));
  if (needed == 0) return failure(outline.error());
  val result = val::object();
  set(result, "needed", to_number(needed));
  return result;
}

val pick_hub_file(const std::string& listing, const std::string& type,
                  const std::string& repository, bool is_reader) {
  const auto paths = hub_paths(listing);
  if (!paths.ok()) return failure(paths.error());
  const auto picked = (is_reader ? pick_reader : pick_file)(paths.value(), type, repository);
  return picked.ok() ? success(val(picked.value())) : failure(picked.error());
}

}  // namespace

EMSCRIPTEN_BINDINGS(kinglet_file_header) {
  using namespace emscripten;

  class_<EngineHeader>("EngineHeader")
      .smart_ptr<std::shared_ptr<EngineHeader>>("EngineHeader")
      .function("isPart", &EngineHeader::is_part)
      .function("fileBytes", &EngineHeader::file_bytes)
      .function("storedBytes", &EngineHeader::stored_bytes)
      .function("roomBytes", &EngineHeader::room_bytes)
      .function("describe", &EngineHeader::describe)
      .function("plan", &EngineHeader::plan)
      .function("estimateSpeed", &EngineHeader::estimate_speed);

  function("readHeader", &read_header);
  function("pickHubFile", &pick_hub_file);
}

}  // namespace kinglet
