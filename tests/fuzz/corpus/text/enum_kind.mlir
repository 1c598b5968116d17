module attributes {a = #stablehlo<fft_type RFFT>, b = [1 : index, f32, array<i8: -1>]} {
func.func @f() {
  return
}
}
