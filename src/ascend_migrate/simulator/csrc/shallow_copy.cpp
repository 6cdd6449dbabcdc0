// Parameters keep their identity when their module moves to a card.
#include "simulated_npu.h"

#include <c10/util/Exception.h>
#include <torch/library.h>

namespace simulated_npu {
namespace {

// Whether `tensor.data = other` may put `other` in the place of `tensor`. PyTorch says no to a CPU tensor and one of
// a device that it does not know; Module.to() then makes a new parameter for every mention of the old one, which
// unties tied weights. torch_npu says yes, in torch_npu/csrc/aten/ops/HasCompatibleShallowCopyType.cpp.
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  auto is_dense = [](c10::DispatchKeySet keys) {
    return keys.has(c10::DispatchKey::CPU) || keys.has(c10::DispatchKey::PrivateUse1);
  };
  return self.key_set() == from.key_set() || (is_dense(self.key_set()) && is_dense(from.key_set()));
}

struct Silent : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

// A library and not TORCH_LIBRARY_IMPL: PyTorch warns about an operator that is replaced, and here that is meant.
const bool replaced = [] {
  static Silent silent;
  c10::WarningUtils::WarningHandlerGuard guard(&silent);
  static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CatchAll, __FILE__, __LINE__);
  library.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_shallow_copy_type));
  return true;
}();

}  // namespace
}  // namespace simulated_npu
