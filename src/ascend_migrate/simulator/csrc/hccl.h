// The c10d backend "hccl" (hccl.cpp), for the Python bindings.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace simulated_npu {
void bind_hccl(pybind11::module_& module);
}  // namespace simulated_npu
