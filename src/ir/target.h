// What a device can do, as plain data: lowering reads this and never the runtime.
#ifndef TT_IR_TARGET_H_
#define TT_IR_TARGET_H_

#include "ir/ir.h"

typedef enum tt_support_e { TT_SUPPORT_REFUSED = 0, TT_SUPPORT_EMULATED = 1, TT_SUPPORT_NATIVE = 2 } tt_support_t;

typedef struct tt_target_s {
  char name[32];                      // "vtpu", "v5e", "v5p", "v6e", "tpu7x", "foreign"
  bool is_vtpu;                       // runs composites and vtpu-only entries natively
  bool checks;                        // tt.check is honoured
  bool int64_dot;                     // integer 64-bit dot and convolution
  bool fft64;                         // Fourier transforms of float64 and complex128
  bool rounds_f32;                    // float32 products take bfloat16 operands unless told a precision
  bool slow_compiles;                 // a program costs a compile worth avoiding (anything but vtpu)
  // Targets of custom calls that it has, NULL-terminated; NULL: any but our own "tt.*".
  const char* const* custom_calls;
  uint8_t dtype_support[TT_DTYPE_COUNT];   // tt_support_t
  // What integers become where a float is wanted, PyTorch's default dtype; INVALID is F32.
  tt_dtype_t default_float;
  int matmul_passes;                  // 0: float32 matmul in true float32; 1, 3, 6: bf16 passes as the MXU
} tt_target_t;

void tt_target_vtpu(tt_target_t* target);
// name: "v5e" "v5p" "v6e" "tpu7x" or "foreign"; NOT_FOUND otherwise.
tt_status_t tt_target_by_name(const char* name, tt_target_t* target) TT_MUST_USE;

#endif  // TT_IR_TARGET_H_
