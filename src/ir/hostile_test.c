// Hostile text: every input is an error with the line and column of what is wrong, in bounded time and memory.
#include <ctype.h>

#include "base/test.h"
#include "ir/text.h"

// Reads and verifies; the text need not end with NUL.
static tt_status_t read_bytes(const char* text, size_t size) {
  char* exact = malloc(size ? size : 1);   // so that a read behind the end is seen by sanitizers
  memcpy(exact, text, size);
  tt_module_t* module = NULL;
  tt_status_t status = tt_module_parse(exact, size, &module);
  free(exact);
  if (tt_status_is_ok(status)) status = tt_module_verify(module);
  tt_module_release(module);
  return status;
}

#define F "func.func @main(%a: tensor<2xf32>, %i: tensor<i32>) -> tensor<2xf32> {\n  "
#define C "%c = stablehlo.constant "

typedef struct hostile_case_s { const char *text, *message; } hostile_case_t;
static const hostile_case_t cases[] = {
    // truncated
    {"", "1:1: the program has no function"},
    {"module", "1:7: expected '{' but the text ends"},
    {"module {", "1:9: expected '}' but the text ends"},
    {"func.func", "1:10: expected '@' but the text ends"},
    {"func.func @", "1:12: expected a name after '@'"},
    {"func.func @f(%a: tensor<", "1:25: expected an element type"},
    {F "%0 = stablehlo.add %a,", "2:25: expected an operand or a clause"},
    {F "%0 = \"stablehlo.add\"(%a", "2:26: expected ',' but the text ends"},
    {F C "dense<[1.0", "2:33: text ends inside brackets"},
    {F C "dense<\"0x00", "2:33: text ends inside brackets"},
    {F "%0 = \"stablehlo.ad", "2:8: string does not end"},
    {"// only a comment", "1:18: the program has no function"},
    // symbols and values
    {F "return %a : tensor<2xf32>\n}\nfunc.func @main() {\n  return\n}",
        "4:10: redefinition of function '@main'"},
    {F "%b = stablehlo.add %a, %a : tensor<2xf32>\n  %b = stablehlo.add %a, %a : tensor<2xf32>",
        "redefinition of value '%b'"},
    {"func.func @main(%a: tensor<f32>, %a: tensor<f32>) {", "redefinition of value '%a'"},
    {F "%b = stablehlo.add %c, %a : tensor<2xf32>\n  %c = stablehlo.add %a, %a : tensor<2xf32>",
        "2:22: use of undefined value '%c'"},
    {F "%b:2 = stablehlo.add %a, %a : tensor<2xf32>", "2:10: 'stablehlo.add' has 1 results but 2 names"},
    {F "return %a#1 : tensor<2xf32>", "2:10: result 1 of '%a', which has 1"},
    {F "return %a#99999999999999999999 : tensor<2xf32>", "2:13: integer does not fit 64 bits"},
    {F "%b:70000 = stablehlo.add %a, %a : tensor<2xf32>", "an operation cannot have 70000 results"},
    {F "%0 = call @nowhere(%a) : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}",
        "2:8: function @main: in `"},
    {"func.func @f(%a: tensor<f32>) -> tensor<f32> {\n  %0 = call @f(%a) : (tensor<f32>) -> tensor<f32>\n  "
        "return %0 : tensor<f32>\n}",
     "1:10: function @f calls itself"},
    // types
    {F "%0 = stablehlo.add %a, %i : tensor<2xf32>", "2:8: 'stablehlo.add': operand 1 has another type than "
        "the one given"},
    {F "return %i : tensor<i32>\n}", "type of returned value 0 differs from the declared one"},
    {F "%0 = \"stablehlo.add\"(%a, %i) : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>\n  return %0 : "
        "tensor<2xf32>\n}", "2:8: function @main: in `"},
    {F "%0 = stablehlo.transpose %a, dims = [1] : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : "
        "tensor<2xf32>\n}", "2:8: "},
    {F "%0 = stablehlo.reshape %a : (tensor<2xf32>) -> tensor<3xf32>\n  return %a : tensor<2xf32>\n}",
        "2:8: "},
    {"func.func @main(%a: tensor<2xf99>) {", "1:30: unknown element type 'f99'"},
    {"func.func @main(%a: tensor<2x>) {", "1:30: expected an element type"},
    {"func.func @main(%a: tensor<2f32>) {", "1:29: expected 'x' after a dimension"},
    {"func.func @main(%a: tensor<-2xf32>) {", "1:28: expected an element type"},
    {"func.func @main(%a: tensor<*xf32>) {", "1:28: unranked tensors are not supported"},
    {"func.func @main(%a: tensor<99999999999999999999xf32>) {", "1:28: integer does not fit 64 bits"},
    {"func.func @main(%a: tensor<9223372036854775807x9223372036854775807xf32>) {",
        "tensor size overflows 64 bits"},
    {"func.func @main(%a: tensor<4611686018427387904xf64>) {", "tensor size overflows 64 bits"},
    {"func.func @main(%a: "
        "tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x"
     "1x1x1x1x1x1x1x1xf32>) {", "tensor rank is greater than"},
    {"func.func @main(%a: tensor<f32, #stablehlo.bounds<-1>>) {", "1:51: "},
    {"func.func @main(%a: tensor<4xf32, #stablehlo.bounds<-1>>) {", "negative bound -1"},
    {"func.func @main(%a: tensor<2x!quant.uniform<f32:f32, 1.0>>) {",
        "quantised storage type must be an integer"},
    {"func.func @main(%a: tensor<2x!quant.uniform<i8:f32, zz>>) {", "expected a number"},
    {"func.func @main(%a: !nothing) {", "1:21: unknown type '!nothing'"},
    {"func.func @main(%a: f32) {", "1:21: 'f32' is an element type"},
    {"func.func @main(%a: complex<i32>) {", "1:21: complex of 'i32'"},
    // literals
    {F C "dense<256> : tensor<i8>", "2:33: integer does not fit i8"},
    {F C "dense<-1> : tensor<ui8>", "2:33: integer does not fit ui8"},
    {F C "dense<2> : tensor<i1>", "2:33: i1 value must be 0 or 1"},
    {F C "dense<99999999999999999999> : tensor<i64>", "2:33: integer does not fit 64 bits"},
    {F C "dense<0x123456789> : tensor<f32>", "2:33: bits do not fit f32"},
    {F C "dense<1.5> : tensor<i32>", "2:33: expected an integer"},
    {F C "dense<> : tensor<2xf32>", "2:33: dense<> without values for 2 elements"},
    {F C "dense<[1.0]> : tensor<2xf32>", "2:37: expected ','"},
    {F C "dense<[1.0, 2.0, 3.0]> : tensor<2xf32>", "2:42: expected ']'"},
    {F C "dense<[[1.0, 2.0]]> : tensor<2xf32>", "2:34: expected a number"},
    {F C "dense<[1.0]> : tensor<9223372036854775807xi8>", "2:33: fewer elements than the type's "
        "9223372036854775807"},
    {F C "dense<\"0x0000\"> : tensor<2xf32>", "2:33: 2 bytes of data, the type needs 8"},
    {F C "dense<\"0x000\"> : tensor<2xf32>", "2:33: half a byte of data"},
    {F C "dense<\"0x000000gg\"> : tensor<f32>", "2:33: byte 0x67 is no hexadecimal digit"},
    {F C "dense<\"0x0000\\00000\"> : tensor<f32>", "2:33: "},
    {F C "dense<\"0\"> : tensor<f32>", "expected \"0x...\""},
    {F C "dense<\"0x00\"> : tensor<9223372036854775807xi8>", ""},   // a splat: a program so far
    {F C "dense<1.0> : tensor<?xf32>", "2:40: dense<> needs a static tensor type"},
    {F C "dense_resource<x> : tensor<f32>", "dense_resource<> constants are not supported"},
    {F C "dense<(1.0)> : tensor<complex<f32>>", "2:37: expected ','"},
    // attributes
    {F "%0 = \"stablehlo.transpose\"(%a) <{permutation = array<i64: 0>, permutation = array<i64: 0>}> : "
        "(tensor<2xf32>) -> tensor<2xf32>",
     "2:65: attribute 'permutation' twice"},
    {F "%0 = \"stablehlo.transpose\"(%a) <{permutation = 3}> : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 "
        ": tensor<2xf32>\n}", "2:8: function @main: "},
    {F "%0 = \"stablehlo.transpose\"(%a) : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}",
        "2:8: function @main: "},
    {F "%0 = stablehlo.iota dim = 99999999999999999999 : tensor<2xf32>",
        "2:29: integer does not fit 64 bits"},
    {F "%0 = stablehlo.iota dim = 5 : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}",
        "2:8: function @main: "},
    {F "%0 = stablehlo.slice %a [0:99:0] : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}",
        "2:8: "},
    {F "%0 = stablehlo.slice %a [0:-9223372036854775808:1] : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : "
        "tensor<2xf32>\n}", "2:8: "},
    {"module attributes {a = #b} {}\n#b = [#b]", "refers to itself"},
    {"module attributes {a = #b} {}\n#b = [#c, #c]\n#c = #b", "refers to itself"},
    {"module attributes {a = #b} {}", "1:24: unknown attribute '#b'"},
    {"#b = 1\n#b = 2\nmodule attributes {a = #b} {}", "2:1: redefinition of alias '#b'"},
    {"module attributes {a = \"\\zz\"} {}", "unknown escape in a string"},
    {"func.func @\"a\\00b\"() {\n  return\n}", "1:12: a name holds a NUL character"},
    {"func.func @\"\"() {\n  return\n}", "1:12: a name is empty"},
    {"#l = loc(#l)\n" F "return %a : tensor<2xf32> loc(#l)\n}", "refers to itself"},
    // structure
    {F "return %a : tensor<2xf32>\n  return %a : tensor<2xf32>\n}", "3:3: operation after the terminator"},
    {F "}", "2:3: block does not end with a return"},
    {F "stablehlo.return %a : tensor<2xf32>\n}", "does not end with a return"},
    {F "%0 = stablehlo.nonesuch %a : tensor<2xf32>", "2:8: unknown operation 'stablehlo.nonesuch'"},
    {F "%0 = \"stablehlo.add\"(%a) ({}) : (tensor<2xf32>) -> tensor<2xf32>",
        "2:8: 'stablehlo.add' has 1 operands"},
    {F "\"stablehlo.add\"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>",
        "2:3: 'stablehlo.add' needs a name for its results"},
    {F "%0 = \"stablehlo.case\"(%i) : (tensor<i32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}",
        "2:8: function @main: "},
    {"stablehlo.add", "1:1: expected a function"},
    {"func.func private @f(tensor<f32>) -> tensor<f32>", "has no body"},
    {"module { module { } }", "expected a function"},
};

TT_TEST(hostile, cases_have_places) {
  int64_t live = tt_alloc_stats().live_blocks;
  for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
    tt_status_t status = read_bytes(cases[i].text, strlen(cases[i].text));
    const char* message = tt_status_message(status);
    const char* wanted = cases[i].message;
    bool right = !tt_status_is_ok(status) && isdigit((unsigned char)*message) &&
                 (isdigit((unsigned char)*wanted) ? !strncmp(message, wanted,
                     strlen(wanted)) : strstr(message, wanted) != NULL);
    if (!right) TT_TEST_FAIL("%s\ngave %s\nexpected %s", cases[i].text, message, wanted);
    tt_status_free(status);
  }
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
}

// Every byte value at every place of a program: NUL, control characters, invalid UTF-8.
TT_TEST(hostile, any_byte_anywhere) {
  static const char text[] =
      "#l = loc(\"f\":1:2)\nmodule @m attributes {a = [1 : i32, {b = @f}], c = #stablehlo<precision "
          "HIGHEST>} {\n func.func @main(%a: tensor<2x?xf32, #stablehlo.bounds<?, 8>>) -> tensor<i1> {\n"
      "  %c = stablehlo.constant dense<\"0x01\"> : tensor<3xi1> loc(#l)\n  %0 = \"stablehlo.slice\"(%c) "
          "<{start_indices = array<i64: 0>, limit_indices = array<i64: 1>, strides = array<i64: 1>}> : "
              "(tensor<3xi1>) -> tensor<1xi1>\n"
      "  %1 = stablehlo.reshape %0 : (tensor<1xi1>) -> tensor<i1> // c\n  return %1 : tensor<i1>\n }\n}";
  int64_t live = tt_alloc_stats().live_blocks;
  TT_EXPECT_OK(read_bytes(text, sizeof(text) - 1));
  char copy[sizeof(text)];
  for (size_t i = 0; i < sizeof(text) - 1; ++i) {
    static const unsigned char bytes[] = {0, 1, '\n', '"', '\\', '(', '<', '>', '}', '/', '0', '9', 'x', '%',
        '#', '!', 0x7f, 0x80, 0xc0, 0xff};
    for (size_t k = 0; k < sizeof(bytes); ++k) {
      memcpy(copy, text, sizeof(text));
      copy[i] = (char)bytes[k];
      tt_status_free(read_bytes(copy, sizeof(text) - 1));
    }
  }
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
}

// What is kept as text ends at a NUL when it is printed: it is refused wherever brackets are skipped.
TT_TEST(hostile, nul_inside_brackets) {
  static const struct { const char* text; size_t size; const char* place; } cases[] = {
#define NUL(text, place) {text, sizeof(text) - 1, place}
      NUL("module attributes {a = #x.y<b\0c>} {}", "1:30: a NUL"),
      NUL("module attributes {a = #x.y<\"b\0\">} {}", "1:31: a NUL"),
      NUL("module attributes {a = #x.y<[\0]>} {}", "1:30: a NUL"),
      NUL("module attributes {a = opaque<\0>} {}", "1:31: a NUL"),
      NUL("module attributes {a = #x.y<b // \0\n>} {}", "1:34: a NUL"),
#undef NUL
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
    tt_status_t status = read_bytes(cases[i].text, cases[i].size);
    TT_EXPECT_EQ(tt_status_code(status), TT_INVALID_ARGUMENT);
    TT_EXPECT(strstr(tt_status_message(status), cases[i].place) != NULL);
    tt_status_free(status);
  }
}

// prefix, `times` of `each`, suffix
static tt_status_t read_repeated(const char* prefix, const char* each, int times, const char* suffix) {
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_strbuf_puts(&text, prefix);
  for (int i = 0; i < times; ++i) tt_strbuf_puts(&text, each);
  tt_strbuf_puts(&text, suffix);
  tt_status_t status = read_bytes(tt_strbuf_text(&text), strlen(tt_strbuf_text(&text)));
  tt_strbuf_deinitialize(&text);
  return status;
}

TT_TEST(hostile, deep_nesting) {
  static const struct { const char *prefix, *each; } nests[] = {
      {"module attributes {a = ", "["},
      {"module attributes {a = ", "{a = "},
      {"module attributes {a = ", "#x<"},
      {"func.func @f(%a: ", "tuple<"},
      {"func.func @f(%a: ", "complex<"},
      {"module attributes {a = ", "("},
      {"module attributes {a = ", "(tensor<f32>) -> "},
      {F "return %a : tensor<2xf32> loc(", "loc("},
      {F "return %a : tensor<2xf32> loc(", "callsite("},
      {F "return %a : tensor<2xf32> loc(", "fused["},
      {F "return %a : tensor<2xf32> loc(", "\"x\"("},
      {F, "\"stablehlo.if\"(%i) ({\n"},
      {F, "%0 = stablehlo.while(%x = %i) : tensor<i32> cond {\n"},
      {F C "dense<", "["},
      {F C "dense<", "("},
      {F C "dense<", "<"},
      {F, "("},
      {"", "module {"},
      {"", "{"},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(nests); ++i) {
    for (int depth = 63; depth <= 200000; depth = depth < 100 ? depth + 1 : depth * 10) {
      tt_status_t status = read_repeated(nests[i].prefix, nests[i].each, depth, "");
      bool right = !tt_status_is_ok(status) && isdigit((unsigned char)*tt_status_message(status));
      if (!right) TT_TEST_FAIL("%d of %s: %s", depth, nests[i].each, tt_status_message(status));
      tt_status_free(status);
    }
  }
}

// Regions nested as deep as the reader allows are read, verified, printed; one more is refused.
TT_TEST(hostile, nested_regions) {
  for (int depth = 50; depth < 80; ++depth) {
    tt_strbuf_t text;
    tt_strbuf_initialize(&text);
    tt_strbuf_puts(&text, "func.func @main(%p: tensor<i1>, %a: tensor<f32>) -> tensor<f32> {\n");
    for (int i = 0; i < depth; ++i) tt_strbuf_printf(&text, "%%v%d = \"stablehlo.if\"(%%p) ({\n", i);
    tt_strbuf_puts(&text, "stablehlo.return %a : tensor<f32>\n");
    for (int i = depth; i-- > 0;) {
      tt_strbuf_puts(&text, "}, {\nstablehlo.return %a : tensor<f32>\n}) : (tensor<i1>) -> tensor<f32>\n");
      tt_strbuf_printf(&text, i ? "stablehlo.return %%v%d : tensor<f32>\n" : "return %%v%d : tensor<f32>\n}",
          i);
    }
    tt_status_t status = read_bytes(tt_strbuf_text(&text), strlen(tt_strbuf_text(&text)));
    bool ok = tt_status_is_ok(status);
    if (!ok && !strstr(tt_status_message(status), "nested deeper than 64 levels")) TT_TEST_FAIL("%d: %s",
        depth, tt_status_message(status));
    tt_status_free(status);
    tt_strbuf_deinitialize(&text);
    TT_EXPECT_EQ(ok, depth < 63);   // the function's body is a level, the innermost type another
  }
}

// Aliases that double at each step stand for 2^25 attributes, types, locations.
TT_TEST(hostile, exponential_aliases) {
  static const struct { const char *use, *first, *step; const char* message; } laughs[] = {
      {"module attributes {a = #a25} {}\n", "#a0 = [1, 2]\n", "#a%d = [#a%d, #a%d]\n",
          "aliases stand for more than"},
      {"func.func @f(%%a: !a25) {\n  return\n}\n", "!a0 = tuple<tensor<f32>>\n",
          "!a%d = tuple<!a%d, !a%d>\n", "aliases stand for more than"},
      {"func.func @f() {\n  return loc(#a25)\n}\n", "#a0 = loc(\"x\")\n", "#a%d = loc(fused[#a%d, #a%d])\n",
          NULL},
      {"func.func @f() {\n  return loc(#a25)\n}\n", "#a0 = loc(\"x\")\n",
          "#a%d = loc(callsite(#a%d at #a%d))\n", NULL},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(laughs); ++i) {
    tt_strbuf_t text;
    tt_strbuf_initialize(&text);
    tt_strbuf_printf(&text, laughs[i].use, 0);
    tt_strbuf_puts(&text, laughs[i].first);
    for (int k = 1; k <= 25; ++k) tt_strbuf_printf(&text, laughs[i].step, k, k - 1, k - 1);
    tt_status_t status = read_bytes(tt_strbuf_text(&text), strlen(tt_strbuf_text(&text)));
    tt_strbuf_deinitialize(&text);
    if (laughs[i].message) TT_EXPECT_ERROR(status, TT_INVALID_ARGUMENT, laughs[i].message);
    else TT_EXPECT_OK(status);
  }
}

// A quarter of a million of one thing: linear, or refused by a limit.
TT_TEST(hostile, very_many) {
  static const struct { const char *prefix, *each, *suffix, *message; } floods[] = {
      {"module attributes {a = [", "1, ", "1]} {}\nfunc.func @f() {\n  return\n}", NULL},
      {"module attributes {a = array<i64: ", "1, ", "1>} {\nfunc.func @f() {\n  return\n} }", NULL},
      {"func.func @f() {\n", "", "  return\n}", NULL},
      {"func.func @f() {\n  return\n}\n", "// comment\n", "", NULL},
      {"func.func @f() {\n  return\n}\n", "#a = 1\n", "", NULL},   // never used
      {"module attributes {a = ", "@a::", "@a} {\nfunc.func @f() {\n  return\n} }", NULL},
      {F "return ", "%a, ", "%a : tensor<2xf32>", "more than 65536 operands"},
      {F "%0 = \"stablehlo.case\"(%i) (", "{}, ", "{}) : (tensor<i32>) -> tensor<2xf32>", "regions"},
      {F "%0 = stablehlo.custom_call @x(%a) {", "x, ", "y} : (tensor<2xf32>) -> tensor<2xf32>",
          "attribute 'x' twice"},
      {"func.func @f(", "%a: tensor<f32>, ", "%b: tensor<f32>) {", "redefinition of value '%a'"},
      {"func.func @f() ", "", "-> tensor<f32> {", "text ends"},
      {"func.func @f() -> (", "tensor<f32>, ", "tensor<f32>) {\n  return\n}",
          "returns 0 values but declares"},
      {"func.func @f(%a: tensor<", "1x", "f32>) {", "tensor rank is greater than"},
      {"func.func @f(%a: tuple<", "tensor<f32>, ", "tensor<f32>>) {\n  return\n}", NULL},
      {"#a0 = 1\n", "\n", "", "the program has no function"},
      {"", "!", "", "expected '='"},
      {"module attributes {a = \"", "\\00", "\"} {\nfunc.func @f() {\n  return\n} }", NULL},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(floods); ++i) {
    tt_status_t status = read_repeated(floods[i].prefix, floods[i].each, 250000, floods[i].suffix);
    if (floods[i].message) TT_EXPECT_ERROR(status, TT_INVALID_ARGUMENT, floods[i].message);
    else TT_EXPECT_OK(status);
  }
}

// Numbered names, so that nothing repeats.
TT_TEST(hostile, very_many_names) {
  static const struct { const char *prefix, *each, *suffix, *message; int count; } floods[] = {
      {"", "func.func @f%d() {\n  return\n}\n", "", "more than 16384 functions", 20000},
      {"module attributes {", "a%d, ", "b} {}", "more than 4096 attributes", 100000},
      {"func.func @f() {\n  return loc(#a1)\n}\n", "#a%d = loc(\"x\")\n", "", NULL, 100000},
      {"func.func @f() {\n", "  %%c%d = stablehlo.constant dense<0.0> : tensor<f32>\n", "  return\n}\n",
          NULL, 100000},
      {"module attributes {a = [", "@a%d, ", "@b]} {\nfunc.func @f() {\n  return\n} }", NULL, 100000},
      {"func.func @f(", "%%a%d: tensor<f32>, ", "%b: tensor<f32>) {\n  return\n}", NULL, 60000},
      {"func.func @f(%a: tuple<", "tensor<%dxf32>, ", "tensor<f32>>) {\n  return\n}", NULL, 60000},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(floods); ++i) {
    tt_strbuf_t text;
    tt_strbuf_initialize(&text);
    tt_strbuf_puts(&text, floods[i].prefix);
    for (int k = 0; k < floods[i].count; ++k) tt_strbuf_printf(&text, floods[i].each, k);
    tt_strbuf_puts(&text, floods[i].suffix);
    tt_status_t status = read_bytes(tt_strbuf_text(&text), strlen(tt_strbuf_text(&text)));
    tt_strbuf_deinitialize(&text);
    if (floods[i].message) TT_EXPECT_ERROR(status, TT_INVALID_ARGUMENT, floods[i].message);
    else TT_EXPECT_OK(status);
  }
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
