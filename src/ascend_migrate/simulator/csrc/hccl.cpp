// The c10d backend "hccl": every collective goes to gloo, on CPU aliases of the npu tensors.
//
// Collectives are synchronous: they are done when the call returns, and the work object of async_op=True is
// already completed. That is a legal, if slow, schedule for any correct program.
#include "hccl.h"

#include "simulated_npu.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace simulated_npu {
namespace {

using namespace c10d;
using Tensors = std::vector<at::Tensor>;
using TensorLists = std::vector<Tensors>;
using WorkPointer = c10::intrusive_ptr<Work>;

at::Tensor host(const at::Tensor& tensor) {
  AliasScope scope;
  return scope.to_cpu(tensor.detach());
}

Tensors host(const Tensors& tensors) {
  Tensors all;
  for (const auto& tensor : tensors) all.push_back(host(tensor));
  return all;
}

TensorLists host(const TensorLists& lists) {
  TensorLists all;
  for (const auto& tensors : lists) all.push_back(host(tensors));
  return all;
}

Tensors flatten(const TensorLists& lists) {
  Tensors all;
  for (const auto& tensors : lists) all.insert(all.end(), tensors.begin(), tensors.end());
  return all;
}

// Work that was done when its collective returned. Its future holds the npu tensors.
class FinishedWork final : public Work {
 public:
  FinishedWork(OpType type, Tensors results)
      : Work(-1, type),
        results_(std::move(results)),
        future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {
    future_->markCompleted(c10::IValue(c10::List<at::Tensor>(results_)));
    finish();
  }
  bool isCompleted() override { return true; }
  bool isSuccess() const override { return true; }
  bool wait(std::chrono::milliseconds) override { return true; }
  void synchronize() override {}
  Tensors result() override { return results_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  Tensors results_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// A send or receive under way. It keeps the CPU aliases alive until it is done, and reports the source.
class PointToPointWork final : public Work {
 public:
  PointToPointWork(OpType type, WorkPointer inner, Tensors aliases)
      : Work(-1, type), inner_(std::move(inner)), aliases_(std::move(aliases)) {}
  bool isCompleted() override { return inner_->isCompleted(); }
  bool isSuccess() const override { return inner_->isSuccess(); }
  int sourceRank() const override { return inner_->sourceRank(); }
  bool wait(std::chrono::milliseconds timeout) override { return inner_->wait(timeout); }
  void synchronize() override { inner_->synchronize(); }
  void abort() override { inner_->abort(); }

 private:
  WorkPointer inner_;
  Tensors aliases_;
};

// The sends and receives of a coalescing block, as one.
class CoalescedWork final : public Work {
 public:
  explicit CoalescedWork(std::vector<WorkPointer> parts) : Work(-1, OpType::COALESCED), parts_(std::move(parts)) {}
  bool isCompleted() override {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->isCompleted(); });
  }
  bool isSuccess() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->isSuccess(); });
  }
  bool wait(std::chrono::milliseconds timeout) override {
    for (auto& part : parts_) part->wait(timeout);
    return true;
  }
  void synchronize() override { wait(kNoTimeout); }

 private:
  std::vector<WorkPointer> parts_;
};

WorkPointer finished(OpType type, Tensors results) {
  return c10::make_intrusive<FinishedWork>(type, std::move(results));
}

class Hccl;
std::mutex groups_mutex;
std::set<Hccl*> groups;  // every live process group, to end their threads at exit

class Hccl final : public Backend {
 public:
  explicit Hccl(c10::intrusive_ptr<Backend> gloo)
      : Backend(gloo->getRank(), gloo->getSize()), gloo_(std::move(gloo)) {
    std::lock_guard<std::mutex> lock(groups_mutex);
    groups.insert(this);
  }
  ~Hccl() override {
    {
      std::lock_guard<std::mutex> lock(groups_mutex);
      groups.erase(this);
    }
    end_threads();
  }

  const std::string getBackendName() const override { return "hccl"; }

  // Gloo's threads end with its process group. They may need Python's lock to drop the last reference to a work
  // object, so they have to end before the interpreter finalizes, and must not be waited for with the lock held.
  void end_threads() {
    auto gloo = std::move(gloo_);
    if (!gloo) return;
    if (Py_IsInitialized() && PyGILState_Check()) {
      pybind11::gil_scoped_release without_lock;
      gloo.reset();
    } else {
      gloo.reset();
    }
  }
  void shutdown() override { end_threads(); }
  void abort() override { end_threads(); }

  WorkPointer allreduce(Tensors& tensors, const AllreduceOptions& options) override {
    auto aliases = host(tensors);
    reduce_in_place(aliases, options);
    return finished(OpType::ALLREDUCE, tensors);
  }

  WorkPointer allreduce_coalesced(Tensors& tensors, const AllreduceCoalescedOptions& options) override {
    for (auto& tensor : tensors) {
      Tensors one{host(tensor)};
      reduce_in_place(one, options);
    }
    return finished(OpType::ALLREDUCE_COALESCED, tensors);
  }

  WorkPointer broadcast(Tensors& tensors, const BroadcastOptions& options) override {
    auto aliases = host(tensors);
    gloo().broadcast(aliases, options)->wait();
    return finished(OpType::BROADCAST, tensors);
  }

  WorkPointer reduce(Tensors& tensors, const ReduceOptions& options) override {
    auto aliases = host(tensors);
    auto sum_options = options;
    bool average = options.reduceOp == ReduceOp::AVG;
    if (average) sum_options.reduceOp = ReduceOp::SUM;
    gloo().reduce(aliases, sum_options)->wait();
    if (average && getRank() == options.rootRank) divide_by_size(aliases);
    return finished(OpType::REDUCE, tensors);
  }

  WorkPointer allgather(TensorLists& outputs, Tensors& inputs, const AllgatherOptions& options) override {
    auto to = host(outputs);
    auto from = host(inputs);
    gloo().allgather(to, from, options)->wait();
    return finished(OpType::ALLGATHER, flatten(outputs));
  }

  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input, const AllgatherOptions& options) override {
    TensorLists to{host(output).view({-1}).chunk(getSize())};
    Tensors from{host(input).contiguous().view({-1})};
    gloo().allgather(to, from, options)->wait();
    return finished(OpType::_ALLGATHER_BASE, {output});
  }

  WorkPointer allgather_into_tensor_coalesced(
      Tensors& outputs, Tensors& inputs, const AllgatherOptions& options) override {
    for (size_t i = 0; i < outputs.size(); ++i) _allgather_base(outputs[i], inputs[i], options);
    return finished(OpType::COALESCED, outputs);
  }

  WorkPointer gather(TensorLists& outputs, Tensors& inputs, const GatherOptions& options) override {
    auto to = host(outputs);
    auto from = host(inputs);
    gloo().gather(to, from, options)->wait();
    return finished(OpType::GATHER, flatten(outputs));
  }

  WorkPointer scatter(Tensors& outputs, TensorLists& inputs, const ScatterOptions& options) override {
    auto to = host(outputs);
    auto from = host(inputs);
    gloo().scatter(to, from, options)->wait();
    return finished(OpType::SCATTER, outputs);
  }

  WorkPointer reduce_scatter(Tensors& outputs, TensorLists& inputs, const ReduceScatterOptions& options) override {
    for (size_t i = 0; i < outputs.size(); ++i) {
      reduce_and_keep_own_part(outputs[i], at::stack(host(inputs[i])), options);
    }
    return finished(OpType::REDUCE_SCATTER, outputs);
  }

  WorkPointer _reduce_scatter_base(
      at::Tensor& output, at::Tensor& input, const ReduceScatterOptions& options) override {
    reduce_and_keep_own_part(output, host(input).reshape({getSize(), -1}), options);
    return finished(OpType::_REDUCE_SCATTER_BASE, {output});
  }

  WorkPointer reduce_scatter_tensor_coalesced(
      Tensors& outputs, Tensors& inputs, const ReduceScatterOptions& options) override {
    for (size_t i = 0; i < outputs.size(); ++i) _reduce_scatter_base(outputs[i], inputs[i], options);
    return finished(OpType::COALESCED, outputs);
  }

  WorkPointer alltoall_base(
      at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes, std::vector<int64_t>& input_sizes,
      const AllToAllOptions& options) override {
    auto to = host(output), from = host(input);
    gloo().alltoall_base(to, from, output_sizes, input_sizes, options)->wait();
    return finished(OpType::ALLTOALL_BASE, {output});
  }

  WorkPointer alltoall(Tensors& outputs, Tensors& inputs, const AllToAllOptions& options) override {
    // Gloo has no list form: send one flat tensor and cut the received one.
    std::vector<int64_t> output_sizes, input_sizes;
    Tensors flat;
    int64_t total = 0;
    for (const auto& tensor : outputs) {
      output_sizes.push_back(tensor.numel());
      total += tensor.numel();
    }
    for (const auto& tensor : inputs) {
      input_sizes.push_back(tensor.numel());
      flat.push_back(host(tensor).reshape({-1}));
    }
    auto from = at::cat(flat);
    auto to = at::empty({total}, from.options());
    auto sizes = output_sizes;  // gloo takes the vectors it is given
    gloo().alltoall_base(to, from, sizes, input_sizes, options)->wait();
    auto parts = to.split_with_sizes(output_sizes);
    for (size_t i = 0; i < outputs.size(); ++i) host(outputs[i]).copy_(parts[i].view(outputs[i].sizes()));
    return finished(OpType::ALLTOALL, outputs);
  }

  WorkPointer send(Tensors& tensors, int destination, int tag) override {
    auto aliases = host(tensors);
    auto inner = gloo().send(aliases, destination, tag);
    return under_way(OpType::SEND, std::move(inner), std::move(aliases));
  }

  WorkPointer recv(Tensors& tensors, int source, int tag) override {
    auto aliases = host(tensors);
    auto inner = gloo().recv(aliases, source, tag);
    return under_way(OpType::RECV, std::move(inner), std::move(aliases));
  }

  WorkPointer recvAnysource(Tensors& tensors, int tag) override {
    auto aliases = host(tensors);
    auto inner = gloo().recvAnysource(aliases, tag);
    return under_way(OpType::RECVANYSOURCE, std::move(inner), std::move(aliases));
  }

  WorkPointer barrier(const BarrierOptions& options) override {
    gloo().barrier(options)->wait();
    return finished(OpType::BARRIER, {});
  }

  void setSequenceNumberForGroup() override { gloo().setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return gloo().getSequenceNumberForGroup(); }

  // The collectives of a coalescing block have been done by the time it ends; its sends and receives have not.
  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override { coalescing_ = true; }
  WorkPointer endCoalescing() override {
    coalescing_ = false;
    return c10::make_intrusive<CoalescedWork>(std::exchange(coalesced_, {}));
  }

 private:
  Backend& gloo() {
    TORCH_CHECK(gloo_, "this hccl process group has been destroyed");
    return *gloo_;
  }

  WorkPointer under_way(OpType type, WorkPointer inner, Tensors aliases) {
    WorkPointer work = c10::make_intrusive<PointToPointWork>(type, std::move(inner), std::move(aliases));
    if (coalescing_) coalesced_.push_back(work);
    return work;
  }

  void divide_by_size(Tensors& aliases) {
    for (auto& alias : aliases) alias.div_(getSize());
  }

  void reduce_in_place(Tensors& aliases, const AllreduceOptions& options) {
    auto sum_options = options;
    bool average = options.reduceOp == ReduceOp::AVG;  // gloo has no average
    if (average) sum_options.reduceOp = ReduceOp::SUM;
    gloo().allreduce(aliases, sum_options)->wait();
    if (average) divide_by_size(aliases);
  }

  // `parts` holds one row for each rank.
  void reduce_and_keep_own_part(
      const at::Tensor& output, const at::Tensor& parts, const ReduceScatterOptions& options) {
    Tensors copy{parts.clone()};
    AllreduceOptions reduce_options;
    reduce_options.reduceOp = options.reduceOp;
    reduce_in_place(copy, reduce_options);
    host(output).copy_(copy[0][getRank()].view(output.sizes()));
  }

  c10::intrusive_ptr<Backend> gloo_;
  bool coalescing_ = false;
  std::vector<WorkPointer> coalesced_;
};

void end_all_threads() {
  std::vector<c10::intrusive_ptr<Hccl>> live;
  {
    std::lock_guard<std::mutex> lock(groups_mutex);
    for (auto* group : groups) live.push_back(c10::intrusive_ptr<Hccl>::unsafe_reclaim_from_nonowning(group));
  }
  for (auto& group : live) group->end_threads();
}

// Times for DistributedDataParallel's own log. Without a timer for the device it warns on every run.
class ReducerTimer final : public Timer {
 public:
  explicit ReducerTimer(c10::Device /*device*/) {}
  std::optional<int64_t> measureDifference(Event start, Event end) override {
    int64_t from = getTimeRef(start), to = getTimeRef(end);
    if (from == kUnsetTime || to == kUnsetTime || to < from) return std::nullopt;
    return to - from;
  }
};
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kPrivateUse1, ReducerTimer);

}  // namespace

void bind_hccl(pybind11::module_& module) {
  pybind11::module_::import("torch._C._distributed_c10d");  // has the Python type of Backend
  module.def("make_hccl", [](const c10::intrusive_ptr<Backend>& gloo) {
    return c10::intrusive_ptr<Backend>(c10::make_intrusive<Hccl>(gloo));
  });
  module.def("end_hccl_threads", &end_all_threads);
}

}  // namespace simulated_npu
