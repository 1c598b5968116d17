// Padded rows of one source type S, widened to T. Included after conv_impl.h with
//   S, SOURCE(x) (names), S_LOAD(p), S_LOAD_PART(p, n) (V of T lanes; zeros past n).

static void SOURCE(pad_rows)(void* dst, int64_t rows, int64_t low, const void* src, int64_t x_rs, int64_t n,
                             int64_t total) {
  T* d = dst;
  const S* x = src;
  const int64_t high = total - low - n;
  if (n == 0) {
    NAME(zero_row)(d, rows * total);
    return;
  }
  if (low < W && high < W) {  // between two rows: one vector of zeros at each end
    const int64_t whole = n / W * W, part = n - whole;
    for (; rows > 0; --rows, d += total, x += x_rs) {
      if (low) V_STORE_PART(d, low, V_ZERO());
      T* to = d + low;
      for (int64_t i = 0; i < whole; i += W) V_STORE(to + i, S_LOAD(x + i));
      if (part) V_STORE_PART(to + whole, part, S_LOAD_PART(x + whole, part));
      if (high) V_STORE_PART(to + n, high, V_ZERO());
    }
    return;
  }
  for (; rows > 0; --rows, x += x_rs) {
    d = NAME(zero_row)(d, low);
    int64_t i = 0;
    for (; i + W <= n; i += W) V_STORE(d + i, S_LOAD(x + i));
    if (i < n) V_STORE_PART(d + i, n - i, S_LOAD_PART(x + i, n - i));
    d = NAME(zero_row)(d + n, high);
  }
}
#undef S
#undef SOURCE
#undef S_LOAD
#undef S_LOAD_PART
