// Which scaled_dot_product_attention torch takes for our tensors: the fused op where the core has
// it.
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <ATen/ops/addbmm.h>
#include <ATen/ops/all.h>
#include <ATen/ops/eq.h>
#include <torch/library.h>

#include "shim.h"

namespace tpu {
namespace {

bool has_fused() {
  static const bool has =
      tt_aten_find("_scaled_dot_product_fused_attention_overrideable") != SIZE_MAX;
  return has;
}

// Sizes are symbolic: torch.export and Dynamo call this with shapes that they must not fix.

// Anything but a broadcast of the scores' shape goes to torch's own path, which has the error
// messages.
bool mask_fits(const at::Tensor& mask, const at::Tensor& query, const at::Tensor& key) {
  const c10::SymInt wanted[4] = {query.sym_size(0), query.sym_size(1), query.sym_size(2),
                               key.sym_size(2)};
  if (mask.dim() > 4 || mask.device() != query.device()) return false;
  if (mask.scalar_type() != at::kBool && mask.scalar_type() != query.scalar_type()) return false;
  for (int64_t d = 0; d < mask.dim(); d++) {
    const c10::SymInt size = mask.sym_size(d), full = wanted[4 - mask.dim() + d];
    if (size != 1 && size != full) return false;
  }
  return true;
}

// Grouped heads only where they are asked for: torch's own path says what else is wrong.
bool heads_fit(const at::Tensor& query, const at::Tensor& key, bool enable_gqa) {
  const c10::SymInt heads = query.sym_size(1), groups = key.sym_size(1);
  if (heads == groups) return true;
  return enable_gqa && groups > 0 && heads % groups == 0;
}

int64_t choose(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
               const std::optional<at::Tensor>& mask, double dropout, bool /*causal*/,
               std::optional<double> /*scale*/, bool enable_gqa) {
  const auto type = query.scalar_type();
  const bool fused =
      has_fused() && at::globalContext().userEnabledOverrideableSDP() && query.dim() == 4 &&
      key.dim() == 4 && value.dim() == 4 && key.scalar_type() == type &&
      value.scalar_type() == type && c10::isFloatingType(type) && dropout == 0.0 &&
      heads_fit(query, key, enable_gqa) && key.sym_size(1) == value.sym_size(1) &&
      query.sym_size(0) == key.sym_size(0) && !query.is_nested() &&
      query.sym_size(3) == key.sym_size(3) && key.sym_size(2) == value.sym_size(2) &&
      query.device() == key.device() && query.device() == value.device() &&
      !(mask && mask->defined() &&
        (!mask_fits(*mask, query, key) || (mask->requires_grad() && c10::GradMode::is_enabled())));
  return static_cast<int64_t>(fused ? sdp::SDPBackend::overrideable : sdp::SDPBackend::math);
}

// torch.nn.TransformerEncoder asks this before it packs padded sequences into a nested tensor. There
// are none on tpu: the padded path, which torch takes for other masks, serves all.
bool can_be_nested(const at::Tensor& /*tensor*/, const at::Tensor& /*mask*/) { return false; }

bool equal(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.device() == b.device(),
              "Expected all tensors to be on the same device, but found at least two devices, ",
              a.device(), " and ", b.device(), "!");
  if (a.sizes() != b.sizes()) return false;
  if (a.numel() == 0) return true;
  return at::all(at::eq(a, b)).item<bool>();
}

// The one in-place product that grows: a smaller self is expanded first.
at::Tensor& addbmm_(at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                    const at::Scalar& beta, const at::Scalar& alpha) {
  const at::Tensor result = at::addbmm(self, batch1, batch2, beta, alpha);
  self.resize_(result.sizes());
  return self.copy_(result);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("addbmm_", TORCH_FN(addbmm_));
  m.impl("_fused_sdp_choice", TORCH_FN(choose));
  m.impl("equal", TORCH_FN(equal));
  m.impl("_nested_tensor_from_mask_left_aligned", TORCH_FN(can_be_nested));
}

}   // namespace
}   // namespace tpu

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &tpu::choose);
}
