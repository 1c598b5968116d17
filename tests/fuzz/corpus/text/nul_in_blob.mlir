func.func @f() {
  %c = stablehlo.constant dense<"0x0000\00000"> : tensor<f32>
  return
}
