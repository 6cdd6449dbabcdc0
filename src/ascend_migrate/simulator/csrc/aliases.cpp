// CPU aliases of npu tensors, without copying: the same bytes under two devices for the length of one call.
#include "simulated_npu.h"

#include <ATen/SparseTensorImpl.h>
#include <c10/core/CPUAllocator.h>
#include <ATen/native/SparseTensorUtils.h>

namespace simulated_npu {
namespace {

// The context of a DataPtr that points into a storage it keeps alive.
struct BorrowedMemory {
  c10::Storage owner;
  int device;
  int64_t bytes;
};

void drop_borrowed(void* context) { delete static_cast<BorrowedMemory*>(context); }

void drop_and_account(void* context) {
  auto* borrowed = static_cast<BorrowedMemory*>(context);
  account(borrowed->device, -borrowed->bytes);
  delete borrowed;
}

c10::Storage cpu_storage_over(const c10::Storage& npu) {
  c10::DataPtr pointer(
      npu.mutable_data(), new BorrowedMemory{npu, 0, 0}, &drop_borrowed, c10::Device(c10::kCPU));
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), npu.nbytes(), std::move(pointer), c10::GetCPUAllocator(), true));
}

// Lets an npu storage take over the memory of a CPU storage.
void adopt(const c10::Storage& npu, const c10::Storage& cpu) {
  auto* impl = npu.unsafeGetStorageImpl();
  int device = impl->device().index();
  auto bytes = static_cast<int64_t>(cpu.nbytes());
  account(device, bytes);
  impl->set_data_ptr_noswap(c10::DataPtr(
      cpu.mutable_data(),
      new BorrowedMemory{cpu, device, bytes},
      &drop_and_account,
      c10::Device(kNpu, static_cast<c10::DeviceIndex>(device))));
  impl->set_nbytes(cpu.nbytes());
}

c10::Storage npu_storage_from(const c10::Storage& cpu, int device) {
  c10::DataPtr nothing(nullptr, c10::Device(kNpu, static_cast<c10::DeviceIndex>(device)));
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), size_t{0}, std::move(nothing), npu_allocator(), true));
  adopt(storage, cpu);
  return storage;
}

// A tensor shaped like another one, over another storage and under another device.
at::Tensor like_on(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), like.dtype());
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  if (like.is_conj()) tensor._set_conj(true);
  if (like.is_neg()) tensor._set_neg(true);
  return tensor;
}

// A sparse COO tensor of the given parts, without the checks and copies of the public factories.
at::Tensor sparse_like(
    c10::DispatchKey key, const at::Tensor& like, const at::Tensor& indices, const at::Tensor& values) {
  auto tensor = at::detail::make_tensor<at::SparseTensorImpl>(c10::DispatchKeySet(key), like.dtype());
  auto* impl = at::sparse::get_sparse_impl(tensor);
  auto* model = at::sparse::get_sparse_impl(like);
  impl->raw_resize_(model->sparse_dim(), model->dense_dim(), like.sizes());
  impl->set_indices_and_values_unsafe(indices, values);
  impl->set_coalesced(model->coalesced());
  return tensor;
}

}  // namespace

at::Tensor AliasScope::to_cpu(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  if (tensor.device().type() != kNpu) {
    has_cpu_tensor_ |= tensor.device().is_cpu() && tensor.dim() > 0;
    return tensor;
  }
  auto known = alias_of_npu_.find(tensor.unsafeGetTensorImpl());
  if (known != alias_of_npu_.end()) return aliases_[known->second].second;

  int device = tensor.device().index();
  TORCH_CHECK(
      device_ < 0 || device_ == device,
      "Expected all tensors to be on the same device, but found at least two devices, npu:", device_,
      " and npu:", device, "!");
  device_ = device;
  TORCH_CHECK(
      tensor.layout() == at::kStrided || tensor.layout() == at::kSparse,
      "not simulated: ", tensor.layout(), " tensors on the NPU");
  auto alias = tensor.is_sparse() ? sparse_to_cpu(tensor) : dense_to_cpu(tensor);
  alias_of_npu_[tensor.unsafeGetTensorImpl()] = aliases_.size();
  alias_of_cpu_[alias.unsafeGetTensorImpl()] = aliases_.size();
  aliases_.emplace_back(tensor, alias);
  return alias;
}

at::Tensor AliasScope::dense_to_cpu(const at::Tensor& tensor) {
  const auto& storage = tensor.storage();
  auto known = storage_of_npu_.find(storage.unsafeGetStorageImpl());
  if (known == storage_of_npu_.end()) {
    auto host = cpu_storage_over(storage);
    known = storage_of_npu_.emplace(storage.unsafeGetStorageImpl(), storages_.size()).first;
    storage_of_cpu_[host.unsafeGetStorageImpl()] = storages_.size();
    storages_.emplace_back(storage, host);
  }
  return like_on(storages_[known->second].second, c10::DispatchKey::CPU, tensor);
}

at::Tensor AliasScope::sparse_to_cpu(const at::Tensor& tensor) {
  auto* impl = at::sparse::get_sparse_impl(tensor);
  return sparse_like(c10::DispatchKey::SparseCPU, tensor, to_cpu(impl->indices()), to_cpu(impl->values()));
}

at::Tensor AliasScope::to_npu(const at::Tensor& result) {
  if (!result.defined() || result.device().type() == kNpu) return result;
  auto known = alias_of_cpu_.find(result.unsafeGetTensorImpl());
  if (known != alias_of_cpu_.end()) return aliases_[known->second].first;
  TORCH_CHECK(
      result.layout() == at::kStrided || result.layout() == at::kSparse,
      "not simulated: ", result.layout(), " tensors on the NPU");
  return result.is_sparse() ? sparse_to_npu(result) : dense_to_npu(result);
}

at::Tensor AliasScope::dense_to_npu(const at::Tensor& result) {
  const auto& storage = result.storage();
  auto known = storage_of_cpu_.find(storage.unsafeGetStorageImpl());
  if (known == storage_of_cpu_.end()) {
    auto npu = npu_storage_from(storage, resolve_device(device_));
    known = storage_of_cpu_.emplace(storage.unsafeGetStorageImpl(), storages_.size()).first;
    storage_of_npu_[npu.unsafeGetStorageImpl()] = storages_.size();
    storages_.emplace_back(npu, storage);
  }
  return like_on(storages_[known->second].first, c10::DispatchKey::PrivateUse1, result);
}

at::Tensor AliasScope::sparse_to_npu(const at::Tensor& result) {
  auto* impl = at::sparse::get_sparse_impl(result);
  return sparse_like(
      c10::DispatchKey::SparsePrivateUse1, result, to_npu(impl->indices()), to_npu(impl->values()));
}

void AliasScope::write_back() {
  // A kernel with out= may have given its alias another storage, size or layout in memory.
  for (size_t i = 0; i < storages_.size(); ++i) {
    auto& [npu, cpu] = storages_[i];
    if (npu.data() != cpu.data() || npu.nbytes() != cpu.nbytes()) adopt(npu, cpu);
  }
  for (size_t i = 0; i < aliases_.size(); ++i) {
    auto [npu, cpu] = aliases_[i];  // copies: to_npu below may move the vector's elements
    if (npu.is_sparse()) {
      auto* from = at::sparse::get_sparse_impl(cpu);
      auto* to = at::sparse::get_sparse_impl(npu);
      to->raw_resize_(from->sparse_dim(), from->dense_dim(), from->sizes());
      to->set_indices_and_values_unsafe(to_npu(from->indices()), to_npu(from->values()));
      to->set_coalesced(from->coalesced());
    } else if (
        npu.sizes() != cpu.sizes() || npu.strides() != cpu.strides() ||
        npu.storage_offset() != cpu.storage_offset()) {
      npu.unsafeGetTensorImpl()->set_sizes_and_strides(cpu.sizes(), cpu.strides(), cpu.storage_offset());
    }
  }
}

}  // namespace simulated_npu
