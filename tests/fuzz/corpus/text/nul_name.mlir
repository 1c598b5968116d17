func.func @"a\00b"() {
  return
}
