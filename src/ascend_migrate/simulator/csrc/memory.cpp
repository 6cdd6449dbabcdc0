// The memory of the simulated cards: host memory, counted per card, with a capacity that can be exceeded.
#include "simulated_npu.h"

#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstring>
#include <map>
#include <mutex>

namespace simulated_npu {
namespace {

constexpr int64_t kDefaultCapacity = int64_t{64} << 30;  // an Ascend 910B has 64 GB

std::mutex statistics_mutex;
std::array<MemoryStatistics, kMaxDevices> statistics;
std::array<int64_t, kMaxDevices> capacities = [] {
  std::array<int64_t, kMaxDevices> all{};
  all.fill(kDefaultCapacity);
  return all;
}();

struct Block {
  void* pointer;
  int64_t bytes;
  int device;
};

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  account(block->device, -block->bytes);
  c10::free_cpu(block->pointer);
  delete block;
}

struct NpuAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    return allocate_on(static_cast<int64_t>(bytes), current_device());
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    std::memcpy(destination, source, count);
  }
};

// Pinned memory is ordinary memory whose address ranges are remembered, so that is_pinned() can tell.
std::mutex pinned_mutex;
std::map<const char*, size_t>& pinned_ranges() {
  // Never destroyed: pinned tensors may be freed after this library's static objects are.
  static auto* ranges = new std::map<const char*, size_t>();
  return *ranges;
}

void free_pinned(void* pointer) {
  {
    std::lock_guard<std::mutex> lock(pinned_mutex);
    pinned_ranges().erase(static_cast<const char*>(pointer));
  }
  c10::free_cpu(pointer);
}

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* pointer = bytes ? c10::alloc_cpu(bytes) : nullptr;
    if (pointer) {
      std::lock_guard<std::mutex> lock(pinned_mutex);
      pinned_ranges()[static_cast<const char*>(pointer)] = bytes;
    }
    return {pointer, pointer, &free_pinned, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    std::memcpy(destination, source, count);
  }
};

std::string gibibytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / (int64_t{1} << 30));
  return text;
}

}  // namespace

c10::Allocator* npu_allocator() {
  static NpuAllocator allocator;
  return &allocator;
}

c10::Allocator* pinned_allocator() {
  static PinnedAllocator allocator;
  return &allocator;
}

bool is_pinned(const void* pointer) {
  const auto* address = static_cast<const char*>(pointer);
  std::lock_guard<std::mutex> lock(pinned_mutex);
  auto next = pinned_ranges().upper_bound(address);
  if (next == pinned_ranges().begin()) return false;
  --next;
  return address < next->first + next->second;
}

c10::DataPtr allocate_on(int64_t bytes, int device) {
  c10::Device where(kNpu, static_cast<c10::DeviceIndex>(device));
  if (bytes == 0) return {nullptr, nullptr, nullptr, where};
  int64_t in_use = memory_statistics(device).current;
  int64_t capacity = memory_capacity(device);
  TORCH_CHECK_WITH(
      OutOfMemoryError,
      in_use + bytes <= capacity,
      "NPU out of memory. Tried to allocate ", gibibytes(bytes), " (NPU ", device, "; ", gibibytes(capacity),
      " total capacity; ", gibibytes(in_use), " already allocated; simulated NPU)");
  void* pointer = c10::alloc_cpu(static_cast<size_t>(bytes));
  account(device, bytes);
  return {pointer, new Block{pointer, bytes, device}, &free_block, where};
}

void account(int device, int64_t bytes) {
  std::lock_guard<std::mutex> lock(statistics_mutex);
  auto& entry = statistics.at(device);
  entry.current += bytes;
  if (bytes > 0) {
    entry.allocated += bytes;
    entry.allocations += 1;
    entry.live += 1;
    entry.peak = std::max(entry.peak, entry.current);
  } else if (bytes < 0) {
    entry.freed -= bytes;
    entry.live -= 1;
  }
}

MemoryStatistics memory_statistics(int device) {
  std::lock_guard<std::mutex> lock(statistics_mutex);
  return statistics.at(device);
}

void reset_peak_memory(int device) {
  std::lock_guard<std::mutex> lock(statistics_mutex);
  statistics.at(device).peak = statistics.at(device).current;
}

void set_memory_capacity(int device, int64_t bytes) {
  std::lock_guard<std::mutex> lock(statistics_mutex);
  capacities.at(device) = bytes;
}

int64_t memory_capacity(int device) {
  std::lock_guard<std::mutex> lock(statistics_mutex);
  return capacities.at(device);
}

}  // namespace simulated_npu
