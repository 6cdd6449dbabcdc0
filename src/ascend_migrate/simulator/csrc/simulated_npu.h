// What the parts of the simulated NPU share.
//
// The "npu" device is PyTorch's PrivateUse1 device under another name. Its memory is host memory, its streams
// are always finished, and every operator runs on PyTorch's own CPU kernel. It is a stand-in for running code:
// it knows nothing of the chip's numerics or speed.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simulated_npu {

constexpr c10::DeviceType kNpu = c10::DeviceType::PrivateUse1;
constexpr int kMaxDevices = 64;

// ---- devices (device.cpp) ------------------------------------------------------------------------------------

// Cards this process sees: ASCEND_MIGRATE_SIM_DEVICES, narrowed by ASCEND_RT_VISIBLE_DEVICES. The environment is
// read again on every call until a card is first used, as the real runtime reads it when it initialises.
int device_count();
int current_device();
void set_device(int index);
// Raises unless 0 <= index < device_count().
void check_device(int index);
// The index itself, or the current device for a negative one.
int resolve_device(int index);
// The generator of one card.
const at::Generator& default_generator(int index);
void register_hooks();
// Keeps autograd on the calling thread: no device threads exist that could outlive the Python interpreter.
void start_autograd_without_device_threads();
void keep_autograd_on_this_thread();

// ---- memory (memory.cpp) -------------------------------------------------------------------------------------

struct MemoryStatistics {
  int64_t current = 0;      // bytes in use
  int64_t peak = 0;         // highest `current` since the last reset
  int64_t allocated = 0;    // bytes ever allocated
  int64_t freed = 0;        // bytes ever freed
  int64_t allocations = 0;  // number of allocations ever made
  int64_t live = 0;         // number of allocations alive
};

c10::Allocator* npu_allocator();
c10::Allocator* pinned_allocator();
bool is_pinned(const void* pointer);
// Raises torch.OutOfMemoryError when the card's capacity would be exceeded.
c10::DataPtr allocate_on(int64_t bytes, int device);
// Counts memory that a card took over from a CPU tensor (bytes > 0) or gave back (bytes < 0).
void account(int device, int64_t bytes);
MemoryStatistics memory_statistics(int device);
void reset_peak_memory(int device);
void set_memory_capacity(int device, int64_t bytes);
int64_t memory_capacity(int device);

// ---- aliases (aliases.cpp) -----------------------------------------------------------------------------------

// For the length of one operator call: CPU tensors that share the memory of npu tensors, and the way back.
class AliasScope {
 public:
  // A CPU tensor over the same memory (or the tensor itself when it is not on an npu). Raises when npu tensors of
  // two different cards meet in one scope.
  at::Tensor to_cpu(const at::Tensor& tensor);
  // The npu tensor for a CPU result: the original for an alias, a view of the original's storage for a view,
  // else a new npu tensor that takes the memory over without a copy.
  at::Tensor to_npu(const at::Tensor& result);
  // After the kernel: give the npu tensors what it changed other than values (size, storage, sparse parts).
  void write_back();

  // The card of the npu arguments, -1 while there is none.
  int device() const { return device_; }
  void expect_device(int device) {
    if (device_ < 0) device_ = device;
  }
  // Whether a CPU tensor with at least one dimension was among the arguments. (PyTorch lets 0-dimensional CPU
  // tensors mix with any device.)
  bool has_cpu_tensor() const { return has_cpu_tensor_; }

 private:
  at::Tensor dense_to_cpu(const at::Tensor& tensor);
  at::Tensor sparse_to_cpu(const at::Tensor& tensor);
  at::Tensor dense_to_npu(const at::Tensor& result);
  at::Tensor sparse_to_npu(const at::Tensor& result);

  std::vector<std::pair<at::Tensor, at::Tensor>> aliases_;             // npu tensor, CPU alias
  std::unordered_map<c10::TensorImpl*, size_t> alias_of_npu_;          // npu tensor -> position in aliases_
  std::unordered_map<c10::TensorImpl*, size_t> alias_of_cpu_;          // CPU alias -> position in aliases_
  std::vector<std::pair<c10::Storage, c10::Storage>> storages_;        // npu storage, CPU storage
  std::unordered_map<c10::StorageImpl*, size_t> storage_of_npu_;
  std::unordered_map<c10::StorageImpl*, size_t> storage_of_cpu_;
  int device_ = -1;
  bool has_cpu_tensor_ = false;
};

// ---- operators (operators.cpp) -------------------------------------------------------------------------------

// Gives sparse npu tensors every operator that sparse CPU tensors have.
void register_sparse_operators();

// How often each operator ran, while counting is on. For tests and for looking at what a model uses.
void count_operators(bool enabled);
std::unordered_map<std::string, int64_t> operator_counts();

}  // namespace simulated_npu
