// Operators of the simulated NPU: one boxed fallback that runs the CPU kernel on aliases of the npu tensors, and
// the few operators that need a kernel of their own.
#include "simulated_npu.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>

namespace simulated_npu {
namespace {

std::atomic<bool> counting{false};
std::mutex counts_mutex;
std::unordered_map<std::string, int64_t> counts;

void count(const std::string& name) {
  if (!counting) return;
  std::lock_guard<std::mutex> lock(counts_mutex);
  ++counts[name];
}

// ---- the fallback --------------------------------------------------------------------------------------------

// Operators whose index arguments may stay on the CPU while the indexed tensor is on a card, as on CUDA.
bool takes_cpu_indices(const c10::OperatorName& name) {
  static const std::set<std::string> names{
      "aten::index", "aten::_unsafe_index", "aten::index_put", "aten::index_put_", "aten::_unsafe_index_put",
      "aten::_index_put_impl", "aten::_index_put_impl_"};
  return names.count(name.name) > 0;
}

[[noreturn]] void raise_mixed_devices(int device, const std::string& name) {
  TORCH_CHECK(
      false,
      "Expected all tensors to be on the same device, but found at least two devices, npu:", device,
      " and cpu! (when calling ", name, ")");
  std::abort();  // not reached: TORCH_CHECK throws
}

void to_cpu(AliasScope& scope, c10::IValue& value, const c10::Argument& argument) {
  if (value.isTensor()) {
    value = scope.to_cpu(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(scope.to_cpu(tensor));
    value = std::move(list);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& tensor : value.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional<at::Tensor>(scope.to_cpu(*tensor)) : std::nullopt);
    }
    value = std::move(list);
  } else if (value.isDevice() && value.toDevice().type() == kNpu) {
    int index = resolve_device(value.toDevice().index());
    check_device(index);
    scope.expect_device(index);
    value = c10::Device(c10::kCPU);
  } else if (value.isNone() && argument.name() == "generator") {
    value = default_generator(scope.device());
  }
}

void to_npu(AliasScope& scope, c10::IValue& value) {
  if (value.isTensor()) {
    value = scope.to_npu(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(scope.to_npu(tensor));
    value = std::move(list);
  }
}

// Runs any operator on the CPU kernel. `dispatch` is what then chooses the CPU kernel.
template <class Dispatch>
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, Dispatch dispatch) {
  keep_autograd_on_this_thread();
  const auto& schema = op.schema();
  const auto name = toString(op.operator_name());
  count(name);

  AliasScope scope;
  const auto first = stack->size() - schema.arguments().size();
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    to_cpu(scope, (*stack)[first + i], schema.arguments()[i]);
    // An npu tensor that only indexes a CPU tensor does not make the operator an npu operator.
    if (i == 0 && scope.has_cpu_tensor() && takes_cpu_indices(op.operator_name())) {
      TORCH_CHECK(
          false,
          "indices should be either on cpu or on the same device as the indexed tensor (cpu) (when calling ",
          name, ")");
    }
  }
  if (scope.has_cpu_tensor() && scope.device() >= 0 && !takes_cpu_indices(op.operator_name())) {
    raise_mixed_devices(scope.device(), name);
  }
  dispatch();
  scope.write_back();
  const auto first_result = stack->size() - schema.returns().size();
  for (size_t i = first_result; i < stack->size(); ++i) to_npu(scope, (*stack)[i]);
}

void dense_fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      op.hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
          op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
          op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) ||
          op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd),
      "not simulated: the operator ", toString(op.operator_name()),
      " has no CPU kernel that the simulated NPU could run");
  run_on_cpu(op, stack, [&] { op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack); });
}

void sparse_fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  // Sparse and dense arguments mix, so the dispatcher looks at the aliases to find the kernel. Autograd has been
  // here already.
  run_on_cpu(op, stack, [&] {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    op.callBoxed(stack);
  });
}

// ---- creating and copying ------------------------------------------------------------------------------------

at::Tensor empty_strided_on(
    at::IntArrayRef size, at::IntArrayRef stride, c10::ScalarType type, std::optional<at::Device> device) {
  int index = resolve_device(device ? device->index() : -1);
  check_device(index);
  keep_autograd_on_this_thread();
  auto dtype = c10::scalarTypeToTypeMeta(type);
  auto bytes = at::detail::computeStorageNbytes(size, stride, dtype.itemsize());
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, allocate_on(static_cast<int64_t>(bytes), index), npu_allocator(),
      true));
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), dtype);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride);
  return tensor;
}

c10::ScalarType type_or_default(std::optional<c10::ScalarType> type) {
  return type.value_or(c10::get_default_dtype_as_scalartype());
}

at::Tensor empty_memory_format(
    c10::SymIntArrayRef sym_size,
    std::optional<c10::ScalarType> type,
    std::optional<at::Layout>,
    std::optional<at::Device> device,
    std::optional<bool>,
    std::optional<at::MemoryFormat> format) {
  auto size = C10_AS_INTARRAYREF_SLOW(sym_size);
  at::detail::check_size_nonnegative(size);
  auto tensor = empty_strided_on(size, c10::contiguous_strides(size), type_or_default(type), device);
  if (format && *format != at::MemoryFormat::Contiguous && *format != at::MemoryFormat::Preserve) {
    tensor.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  }
  return tensor;
}

at::Tensor empty_strided(
    c10::SymIntArrayRef sym_size,
    c10::SymIntArrayRef sym_stride,
    std::optional<c10::ScalarType> type,
    std::optional<at::Layout>,
    std::optional<at::Device> device,
    std::optional<bool>) {
  auto size = C10_AS_INTARRAYREF_SLOW(sym_size);
  at::detail::check_size_nonnegative(size);
  return empty_strided_on(size, C10_AS_INTARRAYREF_SLOW(sym_stride), type_or_default(type), device);
}

// Between any two devices: each side has a scope of its own, since the cards may differ.
at::Tensor copy_from(const at::Tensor& source, const at::Tensor& destination, bool non_blocking) {
  AliasScope from, to;
  auto cpu_source = from.to_cpu(source);
  auto cpu_destination = to.to_cpu(destination);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  cpu_destination.copy_(cpu_source, non_blocking);
  to.write_back();  // copying into a sparse tensor gives it other parts
  return destination;
}

at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& destination) {
  destination.resize_(source.sizes());
  return copy_from(source, destination, false);
}

// ---- set_ ----------------------------------------------------------------------------------------------------

at::Tensor& set_storage_and_view(
    at::Tensor& self, at::Storage source, c10::SymInt offset, c10::SymIntArrayRef sym_size,
    c10::SymIntArrayRef sym_stride) {
  auto* impl = self.unsafeGetTensorImpl();
  auto size = C10_AS_INTARRAYREF_SLOW(sym_size);
  auto first = offset.guard_int(__FILE__, __LINE__);
  impl->set_storage_keep_dtype(std::move(source));
  if (sym_stride.size() == sym_size.size()) {
    impl->set_sizes_and_strides(size, C10_AS_INTARRAYREF_SLOW(sym_stride), first);
  } else {
    impl->set_sizes_contiguous(size);
    impl->set_storage_offset(first);
  }
  return self;
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source) {
  std::array<c10::SymInt, 1> size{
      c10::SymInt(static_cast<int64_t>(source.nbytes() / self.dtype().itemsize()))};
  return set_storage_and_view(self, std::move(source), c10::SymInt(0), size, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(source.storage());
  impl->set_sizes_and_strides(source.sizes(), source.strides(), source.storage_offset());
  return self;
}

at::Tensor& set_nothing(at::Tensor& self) {
  return set_tensor(self, empty_strided_on({0}, {1}, self.scalar_type(), self.device()));
}

// ---- convolution ---------------------------------------------------------------------------------------------

// Not reached by the fallback: PyTorch chooses the convolution by device and asks an unknown device for the
// "overrideable" one. In half precision the CPU accumulates in float32, which is what a card does.

using SymInts = c10::SymIntArrayRef;

at::Tensor as_float_if_half(const at::Tensor& tensor) {
  return tensor.defined() && tensor.scalar_type() == at::kHalf ? tensor.to(at::kFloat) : tensor;
}

at::Tensor convolution(
    const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias, SymInts stride,
    SymInts padding, SymInts dilation, bool transposed, SymInts output_padding, c10::SymInt groups) {
  count("aten::convolution");
  AliasScope scope;
  auto cpu_input = scope.to_cpu(input), cpu_weight = scope.to_cpu(weight);
  std::optional<at::Tensor> cpu_bias;
  if (bias && bias->defined()) cpu_bias = scope.to_cpu(*bias);
  if (scope.has_cpu_tensor()) raise_mixed_devices(scope.device(), "aten::convolution");
  TORCH_CHECK(
      cpu_input.scalar_type() == cpu_weight.scalar_type(),
      "Input type (", input.toString(), ") and weight type (", weight.toString(), ") should be the same");

  at::AutoDispatchBelowADInplaceOrView below_autograd;
  if (cpu_bias) cpu_bias = as_float_if_half(*cpu_bias);
  auto result = at::convolution_symint(
      as_float_if_half(cpu_input), as_float_if_half(cpu_weight), cpu_bias, stride, padding, dilation, transposed,
      output_padding, groups);
  return scope.to_npu(result.to(cpu_input.scalar_type()));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight, SymInts stride,
    SymInts padding, SymInts dilation, bool transposed, SymInts output_padding, c10::SymInt groups,
    std::array<bool, 3> mask) {
  count("aten::convolution_backward");
  AliasScope scope;
  auto cpu_grad = scope.to_cpu(grad_output), cpu_input = scope.to_cpu(input), cpu_weight = scope.to_cpu(weight);
  auto type = cpu_input.scalar_type();
  std::array<c10::SymInt, 1> bias_size{transposed ? weight.sym_size(1) * groups : weight.sym_size(0)};

  at::AutoDispatchBelowADInplaceOrView below_autograd;
  auto [grad_input, grad_weight, grad_bias] = at::convolution_backward_symint(
      as_float_if_half(cpu_grad), as_float_if_half(cpu_input), as_float_if_half(cpu_weight), SymInts(bias_size),
      stride, padding, dilation, transposed, output_padding, groups, mask);
  auto back = [&](const at::Tensor& grad) { return scope.to_npu(grad.defined() ? grad.to(type) : grad); };
  return {back(grad_input), back(grad_weight), back(grad_bias)};
}

// ---- others --------------------------------------------------------------------------------------------------

int64_t choose_math_attention(
    const at::Tensor&, const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, double, bool,
    std::optional<double>, bool) {
  return 0;  // sdp::SDPBackend::math: the one that is written in ordinary operators
}

void record_stream(at::Tensor&, at::Stream) {}  // work is finished when the call returns

}  // namespace

void count_operators(bool enabled) {
  counting = enabled;
  if (!enabled) return;
  std::lock_guard<std::mutex> lock(counts_mutex);
  counts.clear();
}

std::unordered_map<std::string, int64_t> operator_counts() {
  std::lock_guard<std::mutex> lock(counts_mutex);
  return counts;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty_memory_format);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("set_.source_Storage", &set_storage);
  m.impl("set_.source_Storage_storage_offset", &set_storage_and_view);
  m.impl("set_.source_Tensor", &set_tensor);
  m.impl("set_", &set_nothing);
  m.impl("convolution_overrideable", &convolution);
  m.impl("convolution_backward_overrideable", &convolution_backward);
  m.impl("_fused_sdp_choice", &choose_math_attention);
  m.impl("record_stream", &record_stream);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&dense_fallback>());
}

void register_sparse_operators() {
  // An operator with a composite kernel would choose that before the fallback, although sparse tensors on the CPU
  // have a kernel of their own. copy_ is left out: it goes between devices, through _copy_from.
  static auto* library = new torch::Library(
      torch::Library::IMPL, "aten", c10::DispatchKey::SparsePrivateUse1, __FILE__, __LINE__);
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::SparseCPU)) {
    if (name.getNamespace() != "aten" || name.name == "aten::copy_") continue;
    library->impl(toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&sparse_fallback>());
  }
  library->impl("_copy_from", &copy_from);
}

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&sparse_fallback>());
}

}  // namespace simulated_npu
