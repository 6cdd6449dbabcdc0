// Cards, streams, events, generators: what PyTorch asks a device for besides memory and operators.
#include "simulated_npu.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/AutogradState.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace simulated_npu {
namespace {

std::atomic<int> settled_count{-1};              // the number of cards, once a card was used
std::atomic<bool> hide_from_autograd{false};     // see start_autograd_without_device_threads
thread_local int this_device = 0;

int count_from_environment() {
  const char* cards = std::getenv("ASCEND_MIGRATE_SIM_DEVICES");
  int total = std::clamp(cards ? std::atoi(cards) : 1, 0, kMaxDevices);
  const char* visible = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (!visible || !*visible) return total;
  // The runtime reads ascending ids and silently drops everything from the first wrong one on.
  std::stringstream ids(visible);
  std::string id;
  int count = 0, last = -1;
  while (std::getline(ids, id, ',')) {
    char* end = nullptr;
    long value = std::strtol(id.c_str(), &end, 10);
    if (end == id.c_str() || value <= last || value >= total) break;
    last = static_cast<int>(value);
    ++count;
  }
  return count;
}

void settle_count() {
  if (settled_count < 0) settled_count = count_from_environment();
}

// ---- streams and events --------------------------------------------------------------------------------------

// Work is done when the call returns, so streams only have an identity and events only a time.
std::atomic<int64_t> next_stream_id{1};
thread_local std::array<c10::StreamId, kMaxDevices> current_streams{};

struct RecordedEvent {
  std::chrono::steady_clock::time_point time;
};

struct DeviceGuard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kNpu; }

  c10::Device exchangeDevice(c10::Device device) const override {
    c10::Device previous = getDevice();
    setDevice(device);
    return previous;
  }
  c10::Device getDevice() const override { return {kNpu, static_cast<c10::DeviceIndex>(this_device)}; }
  void setDevice(c10::Device device) const override {
    if (device.index() >= 0) set_device(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0) this_device = device.index();
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(hide_from_autograd ? 0 : device_count());
  }

  c10::Stream getStream(c10::Device device) const override {
    int index = resolve_device(device.index());
    return c10::Stream(c10::Stream::UNSAFE, on(index), current_streams.at(index));
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, on(resolve_device(device.index())));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return getNewStream(device, 0); }
  c10::Stream getNewStream(c10::Device device, int) const override {
    return c10::Stream(c10::Stream::UNSAFE, on(resolve_device(device.index())), next_stream_id++);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    c10::Stream previous = getStream(stream.device());
    current_streams.at(stream.device_index()) = stream.id();
    return previous;
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = new RecordedEvent();
    static_cast<RecordedEvent*>(*event)->time = std::chrono::steady_clock::now();
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<RecordedEvent*>(event);
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {
    TORCH_CHECK(start && end, "Both events must be recorded before calculating elapsed time.");
    auto difference = static_cast<RecordedEvent*>(end)->time - static_cast<RecordedEvent*>(start)->time;
    return std::chrono::duration<double, std::milli>(difference).count();
  }

 private:
  static c10::Device on(int index) { return {kNpu, static_cast<c10::DeviceIndex>(index)}; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, DeviceGuard)

// ---- hooks ---------------------------------------------------------------------------------------------------

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  void init() const override {}

  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(device_count()); }
  c10::DeviceIndex getCurrentDevice() const override { return static_cast<c10::DeviceIndex>(this_device); }
  void setCurrentDevice(c10::DeviceIndex index) const override { set_device(index); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    auto previous = getCurrentDevice();
    if (index >= 0) set_device(index);
    return previous;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override { return exchangeDevice(index); }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override { return default_generator(index); }
  at::Generator getNewGenerator(c10::DeviceIndex = -1) const override {
    return at::make_generator<at::CPUGeneratorImpl>(c10::default_rng_seed_val);
  }
  c10::Device getDeviceFromPtr(void*) const override { return {kNpu, getCurrentDevice()}; }
  bool isPinnedPtr(const void* pointer) const override { return is_pinned(pointer); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto* impl = storage.unsafeGetStorageImpl();
    auto memory = allocate_on(static_cast<int64_t>(bytes), impl->device().index());
    if (auto kept = std::min(bytes, impl->nbytes())) std::memcpy(memory.get(), impl->data(), kept);
    impl->set_data_ptr_noswap(std::move(memory));
    impl->set_nbytes(bytes);
  }
};

}  // namespace

int device_count() {
  int settled = settled_count;
  return settled >= 0 ? settled : count_from_environment();
}

int current_device() { return this_device; }

int resolve_device(int index) { return index < 0 ? this_device : index; }

void check_device(int index) {
  settle_count();
  TORCH_CHECK(
      index >= 0 && index < device_count(),
      "invalid device ordinal npu:", index, ": this simulated machine has ", device_count(), " NPU(s)");
}

void set_device(int index) {
  check_device(index);
  this_device = index;
}

const at::Generator& default_generator(int index) {
  // Never destroyed: PyTorch may ask for a generator while static objects are being destroyed.
  static auto* generators = [] {
    auto* all = new std::vector<at::Generator>();
    for (int i = 0; i < kMaxDevices; ++i) {
      all->push_back(at::make_generator<at::CPUGeneratorImpl>(c10::default_rng_seed_val));
    }
    return all;
  }();
  return generators->at(resolve_device(index));
}

void register_hooks() { at::RegisterPrivateUse1HooksInterface(new Hooks()); }

void start_autograd_without_device_threads() {
  // The engine starts one thread per card, once, and such a thread asks for Python's lock when it starts and when
  // it drops the last reference to a finished backward pass. When that happens while the interpreter finalizes,
  // CPython ends the thread inside C++ frames and the process aborts. Here nothing runs in parallel anyway, so the
  // engine is started while it can see no card.
  hide_from_autograd = true;
  torch::autograd::Engine::get_default_engine().initialize_device_threads_pool();
  hide_from_autograd = false;
  keep_autograd_on_this_thread();
}

void keep_autograd_on_this_thread() {
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
}

}  // namespace simulated_npu
