// Ops of our own namespace: compiled graphs, and what Python reaches through torch.ops alone.
#include <ATen/core/Generator.h>
#include <ATen/core/List.h>
#include <torch/library.h>

#include "shim.h"
#include "tt/graph.h"

namespace tpu {
namespace {

// Outputs in the graph's order, dense row-major. 0-d CPU inputs are copied over; the graph's
// run-time numbers are ints, then floats.
std::vector<at::Tensor> graph_run(int64_t handle, at::TensorList inputs, at::IntArrayRef ints,
                                  at::ArrayRef<double> floats, int64_t device, int64_t outputs) {
  follow_default_dtype();
  follow_threads();
  auto* executable = reinterpret_cast<tt_graph_executable_t*>(static_cast<intptr_t>(handle));
  c10::SmallVector<tt_tensor_t, 16> records(inputs.size());
  std::vector<at::Tensor> held;
  const c10::Device where(kTpu, static_cast<c10::DeviceIndex>(device));
  for (size_t i = 0; i < inputs.size(); i++) {
    const at::Tensor* tensor = &inputs[i];
    if (tensor->device() != where || tensor->is_conj() || tensor->is_neg()) {
      held.push_back(tensor->resolve_conj().resolve_neg().to(where));
      tensor = &held.back();
      describe(*tensor, &records[i]);
      continue;
    }
    auto* impl = tensor->unsafeGetTensorImpl();
    if (C10_UNLIKELY(impl->unsafe_storage().unsafeGetStorageImpl()->has_materializer()) &&
        tt_graph_executable_writes(executable, static_cast<uint32_t>(i))) {
      before_write(impl);
    }
    describe(*tensor, &records[i]);
  }
  c10::SmallVector<tt_scalar_t, 8> numbers;
  for (const int64_t value : ints) {
    tt_scalar_t number{};
    number.kind = TT_ARG_INT;
    number.i = value;
    numbers.push_back(number);
  }
  for (const double value : floats) {
    tt_scalar_t number{};
    number.kind = TT_ARG_FLOAT;
    number.c[0] = value;
    numbers.push_back(number);
  }
  std::vector<tt_result_t> results(static_cast<size_t>(outputs) + 1);
  uint32_t count = 0;
  check(tt_graph_run(executable, static_cast<uint32_t>(records.size()), records.data(),
                     static_cast<uint32_t>(numbers.size()), numbers.data(), nullptr, results.data(),
                     static_cast<uint32_t>(results.size()), &count));
  std::vector<at::Tensor> tensors;
  tensors.reserve(count);
  for (uint32_t k = 0; k < count; k++) {
    tensors.push_back(results[k].kind == TT_RESULT_TENSOR
                          ? wrap_result(results[k], static_cast<int>(device))
                          : at::Tensor());
  }
  return tensors;
}

std::optional<at::Generator> generator(int64_t device) {
  return default_generator(static_cast<int>(device));
}

}   // namespace

TORCH_LIBRARY(tpu_c, m) {
  m.def(
      "graph_run(int handle, Tensor[] inputs, int[] ints, float[] floats, int device, int outputs) "
      "-> Tensor[]",
      TORCH_FN(graph_run));
  m.def("default_generator(int device) -> Generator?", TORCH_FN(generator));
}

}   // namespace tpu
