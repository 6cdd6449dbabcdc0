// The Python module "_simulated_npu".
#include "hccl.h"
#include "simulated_npu.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

namespace simulated_npu {
namespace {

void register_autograd_fallthrough() {
  // PyTorch registers this itself from 2.8 on.
  auto& dispatcher = c10::Dispatcher::singleton();
  if (dispatcher.hasBackendFallbackForDispatchKey(c10::DispatchKey::AutogradPrivateUse1)) return;
  static auto* library = new torch::Library(
      torch::Library::IMPL, "_", c10::DispatchKey::AutogradPrivateUse1, __FILE__, __LINE__);
  library->fallback(torch::CppFunction::makeFallthrough());
}

pybind11::dict statistics_of(int device) {
  check_device(device);
  auto statistics = memory_statistics(device);
  pybind11::dict result;
  result["current"] = statistics.current;
  result["peak"] = statistics.peak;
  result["allocated"] = statistics.allocated;
  result["freed"] = statistics.freed;
  result["allocations"] = statistics.allocations;
  result["live"] = statistics.live;
  return result;
}

}  // namespace
}  // namespace simulated_npu

PYBIND11_MODULE(_simulated_npu, m) {
  using namespace simulated_npu;
  c10::SetAllocator(kNpu, npu_allocator());
  register_hooks();
  register_autograd_fallthrough();
  register_sparse_operators();
  start_autograd_without_device_threads();
  bind_hccl(m);

  m.def("device_count", &device_count);
  m.def("current_device", &current_device);
  m.def("set_device", &set_device);
  m.def("check_device", &check_device);
  m.def("generator", [](int device) { return default_generator(device); });
  m.def("memory_statistics", &statistics_of);
  m.def("reset_peak_memory", &reset_peak_memory);
  m.def("memory_capacity", &memory_capacity);
  m.def("set_memory_capacity", &set_memory_capacity);
  m.def("count_operators", &count_operators);
  m.def("operator_counts", &operator_counts);
  m.def("alias_on_cpu", [](const at::Tensor& tensor) {
    AliasScope scope;
    return scope.to_cpu(tensor);
  });
}
