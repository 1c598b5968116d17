// Polynomial coefficients, lowest first: near-minimax fits printed by tests/kernels/math_fit.py, which also
// says what each approximates and over what range. kF* are f32.
#ifndef TT_VTPU_KERNELS_MATH_COEFFICIENTS_H_
#define TT_VTPU_KERNELS_MATH_COEFFICIENTS_H_

// Atan: error 6.94e-18 = 2^-57.0
static const double kAtan[] = {
  -0x1.5555555555555p-2, 0x1.999999999933dp-3, -0x1.24924924355d5p-3, 0x1.c71c7184c32bfp-4,
  -0x1.745d0b153ffadp-4, 0x1.3b126143b5cbcp-4, -0x1.10fa5ee9ab25cp-4, 0x1.dfe49b2919c4ep-5,
  -0x1.a090d1950d2b4p-5, 0x1.41495cefb6c73p-5, -0x1.39f38ad451ea6p-6,
};
// Asin: error 5.06e-18 = 2^-57.46
static const double kAsin[] = {
  0x1.5555555555556p-3, 0x1.3333333332eaap-4, 0x1.6db6db6e35217p-5, 0x1.f1c71c1baf1c5p-6,
  0x1.6e8bb21b0d9bap-6, 0x1.1c4d2df172182p-6, 0x1.c9cff8af3076fp-7, 0x1.781cd742184c7p-7,
  0x1.52816d4983b43p-7, 0x1.637b7e101b0dap-8, 0x1.1e9d59329c4d3p-6, -0x1.eb83e904a1bfcp-7,
  0x1.d8dbb348232e7p-6,
};
// Log: error 5.43e-19 = 2^-60.68
static const double kLog[] = {
  0x1.5555555555555p-1, 0x1.9999999999a3ap-2, 0x1.2492492476765p-2, 0x1.c71c7201f1f41p-3,
  0x1.745cf8c4cfebep-3, 0x1.3b1c42e222badp-3, 0x1.0fbd2bde02b13p-3, 0x1.0c1261fd9bdd6p-3,
};
// Log2: |m / c - 1| < 0.0297; rows: 1 / c, log2 c to 40 binary places, its rest
static const double kLog2[3][16] = {
  {0x1.66c612p+0, 0x1.57b864p+0, 0x1.49e112p+0, 0x1.3d1c14p+0,
   0x1.314abcp+0, 0x1.2652c8p+0, 0x1.1c1d98p+0, 0x1.12979ap+0,
   0x1.09afbep+0, 0x1.p+0, 0x1.e6a74ap-1, 0x1.cb5d4ep-1,
   0x1.b2f934p-1, 0x1.9d0ac2p-1, 0x1.89374cp-1, 0x1.7734c4p-1},
  {-0x1.f29de05b9p-2, -0x1.b34b1806dp-2, -0x1.7692ae7218p-2, -0x1.3c400e964p-2,
   -0x1.04248af0dp-2, -0x1.9c2d4aaa7p-3, -0x1.33e2703efp-3, -0x1.9e4c1bc0dp-4,
   -0x1.b6efa8adp-5, 0, 0x1.2c0719e1bp-4, 0x1.4085729f08p-3,
   0x1.e1b92bcc5p-3, 0x1.3d4ab14b48p-2, 0x1.85f6247714p-2, 0x1.cb3938797p-2},
  {-0x1.244b645c0199ap-42, -0x1.1b73ca92904dep-44, -0x1.1ef3151e7e35bp-42, -0x1.980f363d307eap-42,
   0x1.f5e86ae45595p-44, 0x1.431b14d4c5803p-43, 0x1.6b40a72f55635p-44, 0x1.3ab83dda92899p-43,
   0x1.06c8c45d50da5p-43, 0, 0x1.c9ee816bc8e0dp-42, 0x1.fa8bf9a65900ap-44,
   0x1.8ea642ccb85c6p-43, -0x1.e891f39f63a5ap-42, 0x1.15f69d67aac6ap-43, 0x1.5322caae2e5edp-42},
};
// Log2Tail: error 7.09e-22 = 2^-70.26
static const double kLog2Tail[] = {
  0x1.ec709dc3a03fdp-2, -0x1.71547652b82fep-2, 0x1.2776c50ef9b77p-2, -0x1.ec709dc3a0302p-3,
  0x1.a61762a9f194dp-3, -0x1.71547654d2724p-3, 0x1.484af8b19fabbp-3, -0x1.2776abd92e5eap-3,
  0x1.0d1f5a66faf40p-3, -0x1.ed67502e1204cp-4,
};
// Exp: error 2.75e-19 = 2^-61.66
static const double kExp[] = {
  0x1.0000000000000p-1, 0x1.5555555555557p-3, 0x1.5555555555556p-5, 0x1.11111111100bep-7,
  0x1.6c16c16c162c3p-10, 0x1.a01a01abf85abp-13, 0x1.a01a01a6e1e2ap-16, 0x1.71de01fdbf9cap-19,
  0x1.27e4db46cdf51p-22, 0x1.af4e554377204p-26, 0x1.1f7340db9ef32p-29,
};
// Sin: error 5.71e-18 = 2^-57.28
static const double kSin[] = {
  -0x1.5555555555555p-3, 0x1.1111111111110p-7, -0x1.a01a01a019926p-13, 0x1.71de3a545e704p-19,
  -0x1.ae64540f0c1bcp-26, 0x1.61217c18c5ad8p-33, -0x1.ab161790d481ep-41,
};
// Cos: error 8.69e-19 = 2^-60.0
static const double kCos[] = {
  0x1.5555555555555p-5, -0x1.6c16c16c16c16p-10, 0x1.a01a01a019d02p-16, -0x1.27e4fb7711e1fp-22,
  0x1.1eed8de9efaa4p-29, -0x1.9394b76d752bfp-37, 0x1.ab76cfa136b4ap-45,
};
// Erf: error 1.42e-17 = 2^-55.97
static const double kErf[] = {
  0x1.20dd750429b6dp+0, -0x1.812746b0379e5p-2, 0x1.ce2f21a042a1ap-4, -0x1.b82ce3127d9bbp-6,
  0x1.565bcd0c2df47p-8, -0x1.c02db3780b3ffp-11, 0x1.f9a312654ef74p-14, -0x1.f4d04f0f9b56dp-17,
  0x1.b9c3bd0a439abp-20, -0x1.5de6283cd6044p-23, 0x1.e618b8d923539p-27, -0x1.dfd0ef174bd44p-31,
};
// Erfc: error 7.93e-17 = 2^-53.49
static const double kErfc[] = {
  0x1.18932bf08e154p+0, -0x1.f3fe31ecb49bfp-1, 0x1.8be202d26c705p-1, -0x1.14eacb1ad035bp-1,
  0x1.52cac237101abp-2, -0x1.645fd8a4bab61p-3, 0x1.38dbd2c8e0251p-4, -0x1.b00c052d13defp-6,
  0x1.908f4725cc226p-8, -0x1.269b4faccdeafp-12, -0x1.dd2845dabb66ap-12, 0x1.72cd85a8e800dp-13,
  -0x1.e7e7bac510506p-19, -0x1.3c6a2590f448ap-16, 0x1.3b07229abb4a3p-18, 0x1.7d7d0ffc051e9p-20,
  -0x1.c5e998f13ef65p-21, -0x1.2e38d6d95309bp-24, 0x1.06ecd53b5d29ap-23, -0x1.1870f6101caeep-28,
  -0x1.cd01c601b8f75p-27, 0x1.2bd765f3787a8p-29,
};
// ErfFar: error 3.57e-17 = 2^-54.64
static const double kErfFar[] = {
  0x1.12f21ddd9f5ddp+0, -0x1.c44c471baa287p-1, 0x1.2e326945df8a8p-1, -0x1.3deb21416d087p-2,
  0x1.e995f1170eb62p-4, -0x1.b78993bfd2f06p-6, -0x1.3dd3c408eadf6p-10, 0x1.8dae43df9cbaep-9,
  -0x1.1f7d088d181a0p-11, -0x1.224862d72e40fp-12, 0x1.c3eac9ad624aep-14, 0x1.0431eb58b2b1fp-15,
  -0x1.24db7e7fc2a46p-16, -0x1.c536910174315p-18,
};
// Sinh: error 1.08e-17 = 2^-56.37
static const double kSinh[] = {
  0x1.5555555555555p-3, 0x1.11111111110fdp-7, 0x1.a01a01a01ee7ap-13, 0x1.71de3a4e14331p-19,
  0x1.ae6460fbb232dp-26, 0x1.611cb2cbad2e9p-33, 0x1.b412579180c3cp-41,
};
// Lgamma: error 5.09e-17 = 2^-54.13
static const double kLgamma[] = {
  0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a557555p-4, 0x1.51322ac7d8332p-6,
  -0x1.e404fc21d9354p-8, 0x1.7add6eadfcfbep-9, -0x1.38ac5bfcc5f3dp-10, 0x1.0b36af59562e3p-11,
  -0x1.d3fd6aa0beb44p-13, 0x1.a127cda119096p-14, -0x1.78d8f6109aa85p-15, 0x1.5808acdee7867p-16,
  -0x1.3d4d162995bfap-17, 0x1.26210b963f0bap-18, -0x1.08fad3ae6dd1ap-19, 0x1.f0350ad1808a5p-21,
  -0x1.3806036191a34p-21, 0x1.270bc950a55e5p-22,
};
// Stirling: error 3.45e-18 = 2^-58.01
static const double kStirling[] = {
  0x1.5555555555554p-4, -0x1.6c16c16bfe729p-9, 0x1.a01a010441dcep-11, -0x1.38131ef81b03fp-11,
  0x1.b931db7d44b01p-11, -0x1.f396f8e7c1e77p-10, 0x1.8c0a81cfc04aap-8, -0x1.667e181639dd7p-6,
  0x1.11c8a3cb9a300p-4, -0x1.c660f89bb5474p-4,
};
// Asinh: error 5.07e-17 = 2^-54.13
static const double kAsinh[] = {
  -0x1.555555555554dp-3, 0x1.333333332f201p-4, -0x1.6db6db6899f1dp-5, 0x1.f1c719eeace50p-6,
  -0x1.6e8b517f0b1c2p-6, 0x1.1c48b7f14fddfp-6, -0x1.c908be2267f18p-7, 0x1.761dd28e70a7ep-7,
  -0x1.2933c6ab29b3fp-7, 0x1.8e060b8544b20p-8, -0x1.39952d3f0ce18p-9,
};
// ErfInv: error 1.58e-7 = 2^-22.6
static const double kErfInv[] = {
  0x1.805c5cfbe077fp+0, 0x1.f91ecb5e0d6e2p-3, -0x1.11c43839ad40fp-8, -0x1.48aa67506a1d7p-10,
  0x1.c9d522f9d7f05p-13, -0x1.25ef04cb691dep-18, -0x1.cfa33e2a95180p-19, 0x1.6f6a7fe776b42p-22,
  0x1.83bbf8370e32ep-26,
};
// ErfInvFar: error 1.38e-6 = 2^-19.47
static const double kErfInvFar[] = {
  0x1.6a9f0aba50ef0p+1, 0x1.006f0eac6ea9cp+0, 0x1.34fc068a3ef5dp-7, -0x1.fe531b643bb56p-8,
  0x1.7a6c46e053473p-8, -0x1.acb0b1f63532fp-9, 0x1.33ba40fff8e36p-10, -0x1.e4a25e45e6359p-13,
  0x1.3ce05131319d8p-16,
};
// Digamma: error 4.47e-19 = 2^-60.96
static const double kDigamma[] = {
  0x1.5555555555554p-4, -0x1.11111111077d4p-7, 0x1.041040cb0e14bp-8, -0x1.1110cfee55e0cp-8,
  0x1.f0572c5179551p-8, -0x1.56afd42729133p-6, 0x1.33ef87fd4b317p-4, -0x1.d682b42ae92b2p-3,
};
// Exp: error 5.36e-10 = 2^-30.8
static const float kFExp[] = {
  0x1.p-1f, 0x1.555556p-3f, 0x1.5554e8p-5f, 0x1.1110ep-7f,
  0x1.6d43bp-10f, 0x1.a1256cp-13f,
};
// ExpNear: error 1.17e-9 = 2^-29.67
static const float kFExpNear[] = {
  -0x1.43b01p-11f, 0x1.ffaf14p-1f, 0x1.ffb436p-2f, 0x1.55217p-3f,
};
// ExpPowers: error 0.194 ulp of 1
static const float kFExpPowers[1][16] = {
  {0x1.00287cp+0f, 0x1.0b7fcep+0f, 0x1.1757aap+0f, 0x1.23b5c2p+0f,
   0x1.30a006p+0f, 0x1.3e1cacp+0f, 0x1.4c322ep+0f, 0x1.5ae752p+0f,
   0x1.6a4328p+0f, 0x1.7a4d12p+0f, 0x1.8b0cc4p+0f, 0x1.9c8a4cp+0f,
   0x1.aece1p+0f, 0x1.c1e0d8p+0f, 0x1.d5cbcep+0f, 0x1.ea9884p+0f},
};
// Log: error 1.64e-8 = 2^-25.86
static const float kFLog[] = {
  0x1.555554p-2f, -0x1.0000cep-2f, 0x1.999f14p-3f, -0x1.54d03ep-3f,
  0x1.231ce6p-3f, -0x1.0a33eap-3f, 0x1.02814ep-3f, -0x1.43b246p-4f,
};
// Sin: error 1.18e-8 = 2^-26.34
static const float kFSin[] = {
  -0x1.555552p-3f, 0x1.110c24p-7f, -0x1.9ac6fcp-13f,
};
// Cos: error 6.03e-10 = 2^-30.63
static const float kFCos[] = {
  0x1.555554p-5f, -0x1.6c12cep-10f, 0x1.9bd67p-16f,
};
// Erf: error 7.75e-8 = 2^-23.62; row 0: erf at the multiples of kFErfStep, then the coefficients of the distance (row 1 of
// entry 0 less 1)
static const float kFErf[6][16] = {
  {0, 0x1.1e733cp-2f, 0x1.0d6242p-1f, 0x1.6f44a6p-1f,
   0x1.b22a32p-1f, 0x1.da6f7ap-1f, 0x1.efc9dep-1f, 0x1.f9c2eap-1f,
   0x1.fddd2ap-1f, 0x1.ff59b4p-1f, 0x1.ffd326p-1f, 0x1.fff548p-1f,
   0x1.fffdbcp-1f, 0x1.ffff94p-1f, 0x1.ffffeep-1f, 0x1.fffffep-1f},
  {0x1.06eba8p-3f, 0x1.0eecap+0f, 0x1.bf07bcp-1f, 0x1.446a64p-1f,
   0x1.9e3156p-2f, 0x1.d12adp-3f, 0x1.cb89dp-4f, 0x1.8f5672p-5f,
   0x1.3141a2p-6f, 0x1.9a82e6p-8f, 0x1.e59d42p-10f, 0x1.f95118p-12f,
   0x1.ce883ap-14f, 0x1.7469fcp-16f, 0x1.07c3aap-18f, 0x1.48a806p-21f},
  {0, -0x1.1268f8p-2f, -0x1.c4c87ep-2f, -0x1.ece36p-2f,
   -0x1.a387p-2f, -0x1.2679b6p-2f, -0x1.5d186ep-3f, -0x1.61ec5p-4f,
   -0x1.353002p-5f, -0x1.d3c3dp-7f, -0x1.33675p-8f, -0x1.5fd8fap-10f,
   -0x1.5f4ffcp-12f, -0x1.3268bep-14f, -0x1.d35d6cp-17f, -0x1.37ecd8p-19f},
  {-0x1.8126b6p-2f, -0x1.3ae814p-2f, -0x1.224baep-3f, 0x1.0ab922p-5f,
   0x1.22712ap-3f, 0x1.560dc6p-3f, 0x1.14ffccp-3f, 0x1.5faba2p-4f,
   0x1.6eaf6ap-5f, 0x1.41239ap-6f, 0x1.de7d7cp-8f, 0x1.31a60ep-9f,
   0x1.509accp-11f, 0x1.40c1f8p-13f, 0x1.09379ep-15f, 0x1.7d5dbep-18f},
  {0, 0x1.05020ep-3f, 0x1.75536ap-3f, 0x1.2e367ep-3f,
   0x1.09aaep-4f, -0x1.35582p-7f, -0x1.752d3ep-5f, -0x1.8213ccp-5f,
   -0x1.0c5bdp-5f, -0x1.20f59p-6f, -0x1.fadaeep-8f, -0x1.72fec8p-9f,
   -0x1.cb9bbp-11f, -0x1.e61d0ap-13f, -0x1.b9973cp-15f, -0x1.5a047ap-17f},
  {0x1.cbfb48p-4f, 0x1.435eeep-4f, 0x1.69493ep-8f, -0x1.bd939ap-5f,
   -0x1.1880f8p-4f, -0x1.71059ap-5f, -0x1.a25052p-7f, 0x1.f599b6p-8f,
   0x1.abba08p-7f, 0x1.4c0a7cp-7f, 0x1.6f110ep-8f, 0x1.3edf74p-9f,
   0x1.c5248ep-11f, 0x1.0ce86p-12f, 0x1.0de90cp-14f, 0x1.ce0356p-17f},
};
static const float kFErfStep = 0x1.034cp-2f, kFErfLast = 3.922f;
// Exp2: error 7.03e-9 = 2^-27.08
static const float kFExp2[] = {
  0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6af6ap-5f, 0x1.3b2a52p-7f,
  0x1.5f0a1cp-10f, 0x1.44149ap-13f,
};
// Log2: |m / c - 1| < 0.0297; rows: 1 / c, log2 c to 15 binary places, its rest
static const float kFLog2[3][16] = {
  {0x1.66c612p+0f, 0x1.57b864p+0f, 0x1.49e112p+0f, 0x1.3d1c14p+0f,
   0x1.314abcp+0f, 0x1.2652c6p+0f, 0x1.1c1d98p+0f, 0x1.129798p+0f,
   0x1.09afbep+0f, 0x1.p+0f, 0x1.e6a748p-1f, 0x1.cb5d4ep-1f,
   0x1.b2f934p-1f, 0x1.9d0acp-1f, 0x1.89374ap-1f, 0x1.7734c2p-1f},
  {-0x1.f2ap-2f, -0x1.b348p-2f, -0x1.769p-2f, -0x1.3c4p-2f,
   -0x1.0428p-2f, -0x1.9c3p-3f, -0x1.33ep-3f, -0x1.9e4p-4f,
   -0x1.b7p-5f, 0, 0x1.2cp-4f, 0x1.408p-3f,
   0x1.e1cp-3f, 0x1.3d48p-2f, 0x1.85f8p-2f, 0x1.cb38p-2f},
  {0x1.0fd238p-17f, -0x1.8c0368p-17f, -0x1.57390cp-17f, -0x1.d2c834p-23f,
   0x1.ba8798p-17f, 0x1.64b4b4p-18f, -0x1.381f78p-18f, -0x1.7e16cep-17f,
   0x1.05753p-17f, 0, 0x1.cc8ab2p-18f, 0x1.5ca7c2p-17f,
   -0x1.b50cecp-17f, 0x1.5c3944p-17f, -0x1.d40554p-18f, 0x1.40595ep-18f},
};
// Log2Tail: error 7.28e-13 = 2^-40.32
static const float kFLog2Tail[] = {
  0x1.ec709cp-2f, -0x1.715476p-2f, 0x1.27a814p-2f, -0x1.ecc6e8p-3f,
};
// Atan: error 1.5e-8 = 2^-25.99
static const float kFAtan[] = {
  -0x1.555554p-2f, 0x1.99983cp-3f, -0x1.246ccep-3f, 0x1.c3f11cp-4f,
  -0x1.6294bcp-4f, 0x1.fffdecp-5f, -0x1.25d502p-5f, 0x1.ba8dp-7f,
  -0x1.38caeap-9f,
};
// Asin: error 1.76e-8 = 2^-25.76
static const float kFAsin[] = {
  0x1.55555ep-3f, 0x1.332726p-4f, 0x1.70a8e4p-5f, 0x1.b2f144p-6f,
  0x1.382394p-5f,
};
// Sinh: error 4.67e-9 = 2^-27.67
static const float kFSinh[] = {
  0x1.555556p-3f, 0x1.11111ep-7f, 0x1.a008fep-13f, 0x1.78a73cp-19f,
};
// Erfc: error 1.78e-8 = 2^-25.74
static const float kFErfc[] = {
  0x1.058672p+0f, -0x1.5fd388p-1f, 0x1.1e2dd8p-2f, -0x1.2a86e2p-5f,
  -0x1.60592p-6f, 0x1.a82ddap-8f, 0x1.9143bap-9f, -0x1.afb2e6p-11f,
  -0x1.343c4ap-11f, 0x1.4ab93p-15f, 0x1.0d163ep-14f,
};
// Lgamma: error 3.32e-8 = 2^-24.84
static const float kFLgamma[] = {
  0x1.b0ee6p-2f, 0x1.4a34ccp-2f, -0x1.13dffcp-4f, 0x1.513222p-6f,
  -0x1.e40f74p-8f, 0x1.7ae702p-9f, -0x1.36dd54p-10f, 0x1.098f38p-11f,
  -0x1.0a291ap-12f, 0x1.dbf716p-14f,
};
// Stirling: error 3.31e-9 = 2^-28.17
static const float kFStirling[] = {
  0x1.555554p-4f, -0x1.6bd642p-9f, 0x1.7e14cp-11f,
};
// ErfInv: error 5.74e-8 = 2^-24.05
static const float kFErfInv[] = {
  0x1.805c5ep+0f, 0x1.f91e8ap-3f, -0x1.11c506p-8f, -0x1.48651p-10f,
  0x1.c9e986p-13f, -0x1.4daf08p-18f, -0x1.d0ef4ep-19f, 0x1.f69d08p-22f,
  0x1.90fc2cp-26f, -0x1.32cc26p-27f,
};
// ErfInvFar: error 3.44e-8 = 2^-24.79
static const float kFErfInvFar[] = {
  0x1.6a9efcp+1f, 0x1.006dc4p+0f, 0x1.358024p-7f, -0x1.f47f04p-8f,
  0x1.74bb24p-8f, -0x1.d7a9f6p-9f, 0x1.851eeap-10f, -0x1.d0cea4p-15f,
  -0x1.44559cp-12f, 0x1.e3484ap-14f,
};

#endif  // TT_VTPU_KERNELS_MATH_COEFFICIENTS_H_
