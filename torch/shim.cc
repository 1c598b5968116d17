// Statuses and dtypes.
#include "shim.h"

namespace tpu {

void raise(tt_status_t status) {
  const tt_status_code_t code = tt_status_code(status);
  std::string text = tt_status_message(status);
  tt_status_free(status);
  switch (code) {
    case TT_OUT_OF_RANGE: C10_THROW_ERROR(IndexError, text);
    case TT_UNIMPLEMENTED: C10_THROW_ERROR(NotImplementedError, text);
    case TT_RESOURCE_EXHAUSTED: C10_THROW_ERROR(OutOfMemoryError, text);
    default: C10_THROW_ERROR(Error, text);
  }
}

using S = c10::ScalarType;
static_assert(static_cast<int>(S::NumOptions) == 47, "torch has new dtypes: extend the tables");

// Indexed by c10::ScalarType.
const uint8_t kToCore[static_cast<int>(S::NumOptions)] = {
    TT_DTYPE_U8, TT_DTYPE_S8, TT_DTYPE_S16, TT_DTYPE_S32, TT_DTYPE_S64, TT_DTYPE_F16, TT_DTYPE_F32,
    TT_DTYPE_F64, TT_DTYPE_INVALID /* ComplexHalf */, TT_DTYPE_C64, TT_DTYPE_C128, TT_DTYPE_PRED, 0,
    0, 0 /* quantised */, TT_DTYPE_BF16, 0, 0 /* quantised */, 0, 0, 0, 0, 0 /* bits */,
    TT_DTYPE_F8E5M2, TT_DTYPE_F8E4M3FN, TT_DTYPE_F8E5M2FNUZ, TT_DTYPE_F8E4M3FNUZ, TT_DTYPE_U16,
    TT_DTYPE_U32, TT_DTYPE_U64,
    // UInt1..UInt7, Int1..Int7 are not held as such; then Float8_e8m0fnu and Float4_e2m1fn_x2.
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, TT_DTYPE_F8E8M0FNU, 0, 0 /* Undefined */};

const c10::ScalarType kFromCore[TT_DTYPE_COUNT] = {S::Undefined,
                                                   S::Bool,
                                                   S::Char,
                                                   S::Short,
                                                   S::Int,
                                                   S::Long,
                                                   S::Byte,
                                                   S::UInt16,
                                                   S::UInt32,
                                                   S::UInt64,
                                                   S::Half,
                                                   S::Float,
                                                   S::Double,
                                                   S::BFloat16,
                                                   S::ComplexFloat,
                                                   S::ComplexDouble,
                                                   S::Float8_e5m2,
                                                   S::Float8_e4m3fn,
                                                   S::Undefined,
                                                   S::Float8_e5m2fnuz,
                                                   S::Float8_e4m3fnuz,
                                                   S::Undefined,
                                                   S::Undefined,
                                                   S::Undefined,
                                                   S::Undefined,
                                                   S::Undefined,
                                                   S::Undefined,
                                                   S::Undefined,
                                                   S::Float8_e8m0fnu,
                                                   S::Undefined};

void raise_dtype(c10::ScalarType type) {
  C10_THROW_ERROR(NotImplementedError, c10::str("tpu: dtype ", c10::toString(type),
                                                " is not supported by kernels of the device"));
}

std::atomic<c10::ScalarType> g_default_dtype{S::Float};

void set_default_dtype(c10::ScalarType type) {
  check(tt_setting_set(TT_SETTING_DEFAULT_FLOAT, to_core(type)));
  g_default_dtype.store(type, std::memory_order_relaxed);
}

}   // namespace tpu

// Numbers for the Python side, which maps dtypes the same way.
extern "C" TT_API int tts_dtype_to_core(int scalar_type) {
  return scalar_type < 0 || scalar_type >= static_cast<int>(c10::ScalarType::NumOptions)
             ? 0
             : tpu::kToCore[scalar_type];
}

// The plugin and the core lie beside this library.
#include <dlfcn.h>
namespace {
[[maybe_unused]] const bool g_directory = [] {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&tts_dtype_to_core), &info) && info.dli_fname) {
    std::string path = info.dli_fname;
    const size_t slash = path.rfind('/');
    tt_set_library_dir(slash == std::string::npos ? "." : path.substr(0, slash).c_str());
  }
  return true;
}();
}   // namespace
