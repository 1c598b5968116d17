// Copies between and on devices, reading one element, and the conj / neg fallthroughs of
// _copy_from.
//
// _copy_from falls through at Conjugate and Negative (their fallbacks clone, and clone copies:
// endless); the bits of both sides are handled here.
#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/conj_physical.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "shim.h"

namespace tpu {

bool is_tpu(const c10::TensorImpl* impl) { return impl->device_type() == kTpu; }

void copy_on_device(const at::Tensor& dst, const at::Tensor& src) {
  follow_threads();
  tt_tensor_t to, from;
  before_write(dst.unsafeGetTensorImpl());
  describe(dst, &to);
  describe(src, &from);
  check(tt_tensor_copy(&to, &from));
}

at::Tensor wrap_result(tt_result_t& result, int device) {
  const c10::Device where(kTpu, static_cast<c10::DeviceIndex>(device));
  const size_t bytes = tt_storage_bytes(result.storage);
  auto storage =
      c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                            wrap_storage(result.storage, where), allocator(), true);
  result.storage = nullptr;
  at::Tensor tensor = at::detail::make_tensor_base<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::scalarTypeToTypeMeta(from_core(result.dtype)));
  auto* impl = tensor.unsafeGetTensorImpl();
  if (result.rank != 1 || result.sizes[0] != 0) {
    impl->set_sizes_and_strides({result.sizes, result.rank}, {result.strides, result.rank});
  }
  return tensor;
}

namespace {

// The view of the same memory without conj and neg bits.
at::Tensor plain(const at::Tensor& tensor) {
  at::Tensor result = tensor;
  if (result.is_conj()) result = result.conj();
  if (result.is_neg()) result = result._neg_view();
  return result;
}

// Pinned memory has transfers that go on after the return; pageable memory none.
void read_into(const at::Tensor& src, void* host, bool non_blocking) {
  follow_threads();
  tt_tensor_t from;
  describe(src, &from);
  const bool pinned = pinned_block(host) != nullptr;
  if (pinned) pinned_wait(host, false);
  if (!pinned || !non_blocking) {
    check(tt_tensor_to_host(&from, host));
    return;
  }
  bool pending = false;
  tt_status_t status = tt_tensor_to_host_async(&from, host, &pending);
  const int device = src.device().index();
  if (pending) pinned_use(host, device, tt_stream_current(device), false);
  check(status);
}

void copy_to_host(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  if (dst.scalar_type() == src.scalar_type() && dst.is_contiguous()) {
    read_into(src, dst.mutable_data_ptr(), non_blocking);
    return;
  }
  at::Tensor dense(at::detail::empty_cpu(src.sizes(), src.scalar_type()));
  read_into(src, dense.mutable_data_ptr(), false);
  dst.copy_(dense);
}

void copy_from_host(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  follow_threads();
  const at::Tensor dense = src.contiguous();
  const uint8_t dtype = to_core(src.scalar_type());
  if (dtype == TT_DTYPE_INVALID) raise_dtype(src.scalar_type());
  tt_tensor_t to;
  before_write(dst.unsafeGetTensorImpl());
  describe(dst, &to);
  const void* host = dense.const_data_ptr();
  const bool pinned = pinned_block(host) != nullptr;
  if (pinned) pinned_wait(host, true);
  if (!pinned || !non_blocking) {
    check(tt_tensor_from_host(&to, host, static_cast<tt_dtype_t>(dtype)));
    return;
  }
  bool pending = false;
  tt_status_t status =
      tt_tensor_from_host_async(&to, host, static_cast<tt_dtype_t>(dtype), &pending);
  const int device = dst.device().index();
  if (pending) pinned_use(host, device, tt_stream_current(device), true);
  check(status);
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  if (self.is_same(dst)) return dst;
  const bool to_device = is_tpu(dst.unsafeGetTensorImpl()),
             from_device = is_tpu(self.unsafeGetTensorImpl());
  TORCH_CHECK_NOT_IMPLEMENTED((to_device || dst.is_cpu()) && (from_device || self.is_cpu()),
                              "tpu: copy from ", self.device(), " to ", dst.device(),
                              " is not supported");
  at::assert_no_internal_overlap(dst);
  at::Tensor src = self;
  if (src.sizes() != dst.sizes()) src = src.expand(dst.sizes());
  if (dst.numel() == 0) return dst;
  const bool conjugate = src.is_conj() != dst.is_conj(), negate = src.is_neg() != dst.is_neg();
  at::Tensor target = dst;
  if (C10_UNLIKELY(src.is_conj() || dst.is_conj() || src.is_neg() || dst.is_neg())) {
    src = plain(src);
    target = plain(dst);
    if (conjugate && src.is_complex()) src = at::conj_physical(src);
    if (negate) src = at::neg(src);
  }
  if (to_device && from_device) {
    // Overlapping views of one storage: the core reads all before it writes.
    copy_on_device(target, src);
  } else if (to_device) {
    copy_from_host(target, src, non_blocking);
  } else {
    copy_to_host(target, src, non_blocking);
  }
  return dst;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  dst.resize_(self.sizes());
  return copy_from(self, dst, false);
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  alignas(16) char bytes[16];
  tt_tensor_t from;
  TORCH_CHECK(self.numel() > 0, "_local_scalar_dense: Empty tensor not supported");
  describe(plain(self), &from);
  check(tt_tensor_to_host(&from, bytes));
  at::Scalar value;
  switch (self.scalar_type()) {
#define TPU_CASE(ctype, name) \
  case c10::ScalarType::name: value = *reinterpret_cast<const ctype*>(bytes); break;
    AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_EXCEPT_COMPLEX_HALF_F8NZ(TPU_CASE)
    TPU_CASE(c10::Float8_e5m2fnuz, Float8_e5m2fnuz)
    TPU_CASE(c10::Float8_e4m3fnuz, Float8_e4m3fnuz)
    TPU_CASE(uint16_t, UInt16)
    TPU_CASE(uint32_t, UInt32)
    TPU_CASE(uint64_t, UInt64)
#undef TPU_CASE
    default: raise_dtype(self.scalar_type());
  }
  if (C10_UNLIKELY(self.is_conj())) value = value.conj();
  if (C10_UNLIKELY(self.is_neg())) value = -value;
  return value;
}

}   // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
}

// The bits are handled above. _local_scalar_dense too: the fallback's copy would be one more
// program.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

}   // namespace tpu
