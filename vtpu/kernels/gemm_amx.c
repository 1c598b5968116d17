// The AMX tile unit: 2 x 2 or 1 x 4 tiles of sums, so that four products are in flight.
#include <immintrin.h>

#include "kernels/gemm_tile.h"

typedef tt_gemm_tile_call_t call_t;  // here 1 x 1..4 or 2 x 1..2 panels

// All eight tiles 16 rows of 64 bytes. Static: the intrinsic tells the compiler of its first 8 bytes alone,
// so that stores to a local one are dropped.
typedef struct config_s {
  uint8_t palette, start_row, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} config_t;
static const config_t config = {
    .palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
static void begin(void) { _tile_loadconfig(&config); }
#define BEGIN() begin()
#define END() _tile_release()

// Tile numbers must be literals: one copy of the loops a product instruction.
#define LOAD_C(tile, x, y)        \
  if (c->first) _tile_zero(tile); \
  else _tile_loadd(tile, c->c + (x) * 16 * c->ld + (y) * 16, c->ld * 4);
#define STORE_C(tile, x, y) _tile_stored(tile, c->c + (x) * 16 * c->ld + (y) * 16, c->ld * 4);
#define COMPUTE(name, PRODUCT)                                                                       \
  static void name##_2x2(const call_t* c) {                                                          \
    LOAD_C(0, 0, 0) LOAD_C(1, 0, 1) LOAD_C(2, 1, 0) LOAD_C(3, 1, 1) const char *a = c->a, *b = c->b; \
    for (int64_t k = 0; k < c->tiles; ++k, a += 1024, b += 1024) {                                   \
      _tile_loadd(4, a, 64);                                                                         \
      _tile_loadd(6, b, 64);                                                                         \
      PRODUCT(0, 4, 6);                                                                              \
      _tile_loadd(7, b + c->b_panel, 64);                                                            \
      PRODUCT(1, 4, 7);                                                                              \
      _tile_loadd(5, a + c->a_panel, 64);                                                            \
      PRODUCT(2, 5, 6);                                                                              \
      PRODUCT(3, 5, 7);                                                                              \
    }                                                                                                \
    STORE_C(0, 0, 0) STORE_C(1, 0, 1) STORE_C(2, 1, 0) STORE_C(3, 1, 1)                              \
  }                                                                                                  \
  static void name##_1x4(const call_t* c) {                                                          \
    const int n = c->cols;                                                                           \
    LOAD_C(0, 0, 0)                                                                                  \
    if (n > 1) { LOAD_C(1, 0, 1) }                                                                   \
    if (n > 2) { LOAD_C(2, 0, 2) }                                                                   \
    if (n > 3) { LOAD_C(3, 0, 3) }                                                                   \
    const char *a = c->a, *b = c->b;                                                                 \
    for (int64_t k = 0; k < c->tiles; ++k, a += 1024, b += 1024) {                                   \
      _tile_loadd(4, a, 64);                                                                         \
      _tile_loadd(5, b, 64);                                                                         \
      PRODUCT(0, 4, 5);                                                                              \
      if (n > 1) {                                                                                   \
        _tile_loadd(6, b + c->b_panel, 64);                                                          \
        PRODUCT(1, 4, 6);                                                                            \
      }                                                                                              \
      if (n > 2) {                                                                                   \
        _tile_loadd(7, b + 2 * c->b_panel, 64);                                                      \
        PRODUCT(2, 4, 7);                                                                            \
      }                                                                                              \
      if (n > 3) {                                                                                   \
        _tile_loadd(5, b + 3 * c->b_panel, 64);                                                      \
        PRODUCT(3, 4, 5);                                                                            \
      }                                                                                              \
    }                                                                                                \
    STORE_C(0, 0, 0)                                                                                 \
    if (n > 1) { STORE_C(1, 0, 1) }                                                                  \
    if (n > 2) { STORE_C(2, 0, 2) }                                                                  \
    if (n > 3) { STORE_C(3, 0, 3) }                                                                  \
  }                                                                                                  \
  static void name(const call_t* call) {                                                             \
    if (call->rows == 2 && call->cols == 2) {                                                        \
      name##_2x2(call);                                                                              \
      return;                                                                                        \
    }                                                                                                \
    call_t row = *call;                                                                              \
    for (int i = 0; i < call->rows; ++i) {                                                           \
      name##_1x4(&row);                                                                              \
      row.a += row.a_panel;                                                                          \
      row.c += 16 * row.ld;                                                                          \
    }                                                                                                \
  }
COMPUTE(compute_bf16, _tile_dpbf16ps)
COMPUTE(compute_s8, _tile_dpbssd)
COMPUTE(compute_u8, _tile_dpbuud)
static void compute(const call_t* c) {
  if (c->dtype == TT_DTYPE_BF16) compute_bf16(c);
  else if (c->dtype == TT_DTYPE_S8) compute_s8(c);
  else compute_u8(c);
}

#define OWN_A false
#define BYTES true
#define TABLE tt_gemm_tile__amx
#include "kernels/gemm_tile_impl.h"
