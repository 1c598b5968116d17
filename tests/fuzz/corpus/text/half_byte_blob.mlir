func.func @f() {
  %c = stablehlo.constant dense<"0x000"> : tensor<i8>
  return
}
