// Chains joined into one instruction: where they are, where they are not, and always the same bits.
#include "compile/test_pair.h"

static size_t count_compounds(const tt_plan_t* plan) {
  size_t n = 0;
  for (uint32_t i = 0; i < plan->header->lane_count; ++i)
    n += PD_AT(plan->bytes, plan->header->lanes_at, pd_lane_t)[i].cls == PD_LANE_COMPOUND;
  return n;
}

// `body` defines %r and may define %q, both of `type`, from %x with the constants %half, %one, %root, %beta, %kappa.
static void chain_case(const char* what, const char* body, const char* results, int count, const char* dtype, int n, size_t compounds) {
  char text[4096], type[64], out[256];
  snprintf(type, sizeof type, "tensor<%dx%s>", n, dtype);
  snprintf(out, sizeof out, count == 2 ? "%s, %s" : "%s", type, type);
  size_t at = (size_t)snprintf(text, sizeof text, "func.func @main(%%x: %s) -> (%s) {\n", type, out);
  static const char* const constants[][2] = {{"half", "0.5"}, {"one", "1.0"}, {"root", "0.70710678"}, {"beta", "0.7978845608"}, {"kappa", "0.044715"}};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(constants); ++i)
    at += (size_t)snprintf(text + at, sizeof text - at, "  %%%s = stablehlo.constant dense<%s> : %s\n", constants[i][0], constants[i][1], type);
  for (const char* c = body; *c && at + sizeof type < sizeof text; ++c) {   // '$' stands for the type
    if (*c == '$') at += (size_t)snprintf(text + at, sizeof text - at, "%s", type);
    else text[at++] = *c;
  }
  snprintf(text + at, sizeof text - at, "  return %s : %s\n}\n", results, out);
  tt_plan_t *fused = test_pair_compile(text, false), *separate = test_pair_compile(text, true);
  TT_EXPECT(fused && separate);
  TT_EXPECT_EQ(count_compounds(separate), 0);
  if (count_compounds(fused) != compounds) TT_TEST_FAIL("%s: %zu chains joined, not %zu", what, count_compounds(fused), compounds);
  test_pair_same_bits(fused, separate, what);
  tt_plan_release(fused);
  tt_plan_release(separate);
}

#define OP2(r, op, a, b) "  %" r " = stablehlo." op " %" a ", %" b " : $\n"
#define OP1(r, op, a) "  %" r " = stablehlo." op " %" a " : $\n"
#define ERF(r, a) "  %" r " = chlo.erf %" a " : $ -> $\n"
#define GELU OP2("1", "multiply", "x", "root") ERF("2", "1") OP2("3", "add", "one", "2") OP2("4", "multiply", "half", "3") OP2("r", "multiply", "x", "4")
#define GELU_SWAPPED OP2("1", "multiply", "root", "x") ERF("2", "1") OP2("3", "add", "2", "one") OP2("4", "multiply", "3", "half") OP2("r", "multiply", "4", "x")
#define GELU_TANH                                                                                                              \
  OP2("1", "multiply", "x", "x") OP2("2", "multiply", "1", "x") OP2("3", "multiply", "kappa", "2") OP2("4", "add", "x", "3")   \
  OP2("5", "multiply", "beta", "4") OP1("6", "tanh", "5") OP2("7", "add", "one", "6") OP2("8", "multiply", "half", "x")         \
  OP2("r", "multiply", "8", "7")
#define SILU OP1("1", "negate", "x") OP1("2", "exponential", "1") OP2("3", "add", "one", "2") OP2("r", "divide", "x", "3")

static void chains(void) {
  static const int sizes[] = {1, 15, 16, 17, 1023, 1040, 70001};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(sizes); ++i) {
    chain_case("gelu", GELU, "%r", 1, "f32", sizes[i], 1);
    chain_case("gelu, operands swapped", GELU_SWAPPED, "%r", 1, "f32", sizes[i], 1);
    chain_case("gelu by tanh", GELU_TANH, "%r", 1, "f32", sizes[i], 1);
    chain_case("silu", SILU, "%r", 1, "f32", sizes[i], 1);
    chain_case("two chains", SILU OP2("q", "add", "r", "x"), "%q", 1, "f32", sizes[i], 1);
  }
}
TT_TEST(compound, chains) { test_every_isa(chains); }

TT_TEST(compound, other_chains_stay) {
  chain_case("f64", GELU, "%r", 1, "f64", 100, 0);
  chain_case("bf16", SILU, "%r", 1, "bf16", 100, 0);
  // a value inside the chain is a result too, or read elsewhere
  chain_case("inside kept", GELU, "%r, %3", 2, "f32", 100, 0);
  chain_case("inside read", SILU OP2("q", "add", "2", "r"), "%q", 1, "f32", 100, 0);
  // another operand, another constant than the pattern's place allows, operands of a division swapped
  chain_case("not the operand", OP1("y", "negate", "x") OP2("1", "multiply", "y", "root") ERF("2", "1") OP2("3", "add", "one", "2")
             OP2("4", "multiply", "half", "3") OP2("r", "multiply", "x", "4"), "%r", 1, "f32", 100, 0);
  chain_case("no constant", OP1("1", "negate", "x") OP1("2", "exponential", "1") OP2("3", "add", "x", "2") OP2("r", "divide", "x", "3"), "%r", 1, "f32", 100, 0);
  chain_case("divided the other way", OP1("1", "negate", "x") OP1("2", "exponential", "1") OP2("3", "add", "one", "2") OP2("r", "divide", "3", "x"), "%r", 1, "f32", 100, 0);
}

// Larger than what is streamed past the caches.
TT_TEST(compound, large) { chain_case("large gelu", GELU, "%r", 1, "f32", (32 << 18) + 77, 1); }

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
