func.func @main(%0: tensor<3x4x5xi1>, %1: tensor<3x2x5xi1>) -> tensor<3x6x5xi1> {
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3x4x5xi1>, tensor<3x2x5xi1>) -> tensor<3x6x5xi1>
  return %2 : tensor<3x6x5xi1>
}
