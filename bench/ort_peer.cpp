// onnxruntime as rlx bench compares with it: does what `rlx bench --worker` does, through its C
// API.
//   rlx_ort_peer LIBRARY JOB.json
// The library is loaded by its path. Its threads spin as they do where nobody says otherwise, and
// outputs are written where the first run put them, so that a run allocates none.
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>

#include "rlx/base/error.h"
#include "rlx/cli/bench_job.h"
#include "rlx/import/npy.h"

namespace rlx {
namespace {

using cli::BenchAnswer;
using cli::BenchJob;
using cli::BenchStart;

// Ours and theirs, where they are stored alike.
constexpr std::pair<DType, ONNXTensorElementDataType> kTypes[] = {
    {DType::f32, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},
    {DType::f64, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE},
    {DType::f16, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16},
    {DType::i8, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8},
    {DType::u8, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8},
    {DType::i16, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16},
    {DType::u16, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16},
    {DType::i32, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32},
    {DType::u32, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32},
    {DType::i64, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64},
    {DType::u64, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64},
    {DType::boolean, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL},
};
ONNXTensorElementDataType type_of(DType dtype) {
  for (const auto& [ours, theirs] : kTypes)
    if (ours == dtype) return theirs;
  fail(ErrorKind::unsupported, "onnxruntime is given no ", name(dtype));
}
DType dtype_of(ONNXTensorElementDataType type) {
  for (const auto& [ours, theirs] : kTypes)
    if (theirs == type) return ours;
  fail(ErrorKind::unsupported, "onnxruntime gave elements of type ", static_cast<int>(type));
}

struct Library {
  const OrtApi* api = nullptr;
  std::string version;

  explicit Library(const char* path) {
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) fail(ErrorKind::io, dlerror());
    using GetBase = const OrtApiBase* (*)();
    const auto get = reinterpret_cast<GetBase>(dlsym(handle, "OrtGetApiBase"));
    if (!get) fail(ErrorKind::io, path, " is not onnxruntime");
    version = get()->GetVersionString();
    api = get()->GetApi(ORT_API_VERSION);
    if (!api) fail(ErrorKind::io, path, " is older than its header");
  }
  void check(OrtStatus* status) const {
    if (!status) return;
    const std::string message = api->GetErrorMessage(status);
    api->ReleaseStatus(status);
    fail(ErrorKind::unsupported, "onnxruntime: ", message);
  }
};

// A session with its inputs and, from the first run on, its outputs.
class Session {
 public:
  Session(const Library& library, const BenchJob& job, OrtEnv* env) : ort_(library) {
    OrtSessionOptions* options = nullptr;
    ort_.check(ort_.api->CreateSessionOptions(&options));
    ort_.check(ort_.api->SetIntraOpNumThreads(options, job.threads));
    ort_.check(ort_.api->SetInterOpNumThreads(options, 1));
    ort_.check(ort_.api->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
    ort_.check(ort_.api->CreateSession(env, job.model.c_str(), options, &session_));
    ort_.api->ReleaseSessionOptions(options);
    OrtAllocator* allocator = nullptr;
    ort_.check(ort_.api->GetAllocatorWithDefaultOptions(&allocator));
    size_t count = 0;
    ort_.check(ort_.api->SessionGetOutputCount(session_, &count));
    for (size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      ort_.check(ort_.api->SessionGetOutputName(session_, i, allocator, &name));
      output_names_.emplace_back(name);
      ort_.check(ort_.api->AllocatorFree(allocator, name));
    }
    outputs_.resize(count, nullptr);
  }
  ~Session() {
    for (OrtValue* value : inputs_) ort_.api->ReleaseValue(value);
    for (OrtValue* value : outputs_)
      if (value) ort_.api->ReleaseValue(value);
    ort_.api->ReleaseSession(session_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The tensor must live as long as this.
  void add_input(const std::string& name, Tensor& tensor) {
    OrtMemoryInfo* memory = nullptr;
    ort_.check(ort_.api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
    const auto bytes = tensor.mutable_bytes();
    const Shape& shape = tensor.shape();
    ort_.check(ort_.api->CreateTensorWithDataAsOrtValue(
        memory, bytes.data(), bytes.size(), shape.data(), shape.size(), type_of(tensor.dtype()),
        &inputs_.emplace_back(nullptr)));
    ort_.api->ReleaseMemoryInfo(memory);
    input_names_.push_back(name);
  }

  void run() {
    const auto pointers = [](const std::vector<std::string>& names) {
      std::vector<const char*> list;
      for (const std::string& name : names) list.push_back(name.c_str());
      return list;
    };
    if (input_pointers_.empty()) {
      input_pointers_ = pointers(input_names_);
      output_pointers_ = pointers(output_names_);
    }
    ort_.check(ort_.api->Run(session_, nullptr, input_pointers_.data(), inputs_.data(),
                             inputs_.size(), output_pointers_.data(), outputs_.size(),
                             outputs_.data()));
  }

  const std::vector<std::string>& output_names() const { return output_names_; }
  Tensor output(size_t i) const {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    ort_.check(ort_.api->GetTensorTypeAndShape(outputs_[i], &info));
    size_t rank = 0;
    ort_.check(ort_.api->GetDimensionsCount(info, &rank));
    Shape shape;
    shape.resize(rank);
    ort_.check(ort_.api->GetDimensions(info, shape.data(), rank));
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    ort_.check(ort_.api->GetTensorElementType(info, &type));
    ort_.api->ReleaseTensorTypeAndShapeInfo(info);
    Tensor tensor(dtype_of(type), shape);
    void* data = nullptr;
    ort_.check(ort_.api->GetTensorMutableData(outputs_[i], &data));
    const auto bytes = tensor.mutable_bytes();
    if (!bytes.empty()) std::memcpy(bytes.data(), data, bytes.size());
    return tensor;
  }

 private:
  const Library& ort_;
  OrtSession* session_ = nullptr;
  std::vector<std::string> input_names_, output_names_;
  std::vector<const char*> input_pointers_, output_pointers_;
  std::vector<OrtValue*> inputs_, outputs_;
};

BenchAnswer measure(const Library& library, const BenchJob& job) {
  std::map<std::string, Tensor> inputs;
  for (const cli::NamedFile& input : job.inputs) inputs.emplace(input.name, load_npy(input.file));
  OrtEnv* env = nullptr;
  library.check(library.api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "rlx bench", &env));
  const auto start = [&](BenchStart& times) {
    auto since = Clock::now();
    auto session = std::make_unique<Session>(library, job, env);
    times.load = microseconds_since(since);  // which compiles, too
    since = Clock::now();
    for (auto& [name, tensor] : inputs) session->add_input(name, tensor);
    session->run();
    times.first = microseconds_since(since);
    return session;
  };
  BenchAnswer answer;
  answer.program = "onnxruntime " + library.version;
  auto session = start(answer.cold);
  answer.runs = cli::timed_runs(job.seconds, [&] { session->run(); });
  answer.peak_bytes = cli::peak_memory_bytes();
  if (!job.outputs.empty()) std::filesystem::create_directories(job.outputs);
  for (size_t i = 0; !job.outputs.empty() && i < session->output_names().size(); ++i) {
    const std::string file = job.outputs + "/" + std::to_string(i) + ".npy";
    save_npy(file, session->output(i));
    answer.outputs.push_back({session->output_names()[i], file});
  }
  session.reset();
  start(answer.warm);
  library.api->ReleaseEnv(env);
  return answer;
}

}  // namespace
}  // namespace rlx

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: rlx_ort_peer LIBRARY JOB.json\n");
    return 2;
  }
  const rlx::Library library(argv[1]);
  std::cout << nlohmann::json(rlx::measure(library, rlx::cli::read_job(argv[2]))).dump() << '\n';
  return std::cout.flush() ? 0 : 1;
} catch (const std::exception&) {
  std::fprintf(stderr, "%s\n", rlx::current_error().what());
  return 1;
}
