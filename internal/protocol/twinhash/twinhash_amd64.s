//go:build amd64 && !purego

#include "textflag.h"

// The bytes of four words, each turned around: the message is big-endian.
DATA flip<>+0(SB)/8, $0x0405060700010203
DATA flip<>+8(SB)/8, $0x0c0d0e0f08090a0b
GLOBL flip<>(SB), RODATA|NOPTR, $16

// The first state is in X1 and X2, the second in X11 and X12. X3 to X6 are the
// last sixteen words of the message schedule, which both states share: that is why
// two do not cost twice one. X0 is what the rounds read, X7 is scratch.

// Four rounds of both states with the words w and the constants at k. The second
// state's instructions fill the time in which those of the first are not done.
#define HALF() \
	SHA256RNDS2 X0, X1, X2; \
	SHA256RNDS2 X0, X11, X12
#define OTHERHALF() \
	PSHUFD $0x0e, X0, X0; \
	SHA256RNDS2 X0, X2, X1; \
	SHA256RNDS2 X0, X12, X11
#define ADD(k, w) \
	MOVOU k(AX), X0; \
	PADDL w, X0

// LOAD reads the next four words of the block.
#define LOAD(at, w) \
	MOVOU at(SI), w; \
	PSHUFB X8, w

// EXTEND finishes the four words that come after w.
#define EXTEND(w, before, after) \
	MOVO w, X7; \
	PALIGNR $4, before, X7; \
	PADDL X7, after; \
	SHA256MSG2 w, after

// func blocks(a, b *[8]uint32, k *[64]uint32, p *byte, n int)
TEXT ·blocks(SB), NOSPLIT, $0-40
	MOVQ a+0(FP), DI
	MOVQ b+8(FP), DX
	MOVQ k+16(FP), AX
	MOVQ p+24(FP), SI
	MOVQ n+32(FP), CX
	MOVOU flip<>(SB), X8
	MOVOU (DI), X1
	MOVOU 16(DI), X2
	MOVOU (DX), X11
	MOVOU 16(DX), X12

block:
	MOVO X1, X9
	MOVO X2, X10
	MOVO X11, X13
	MOVO X12, X14

	LOAD(0, X3)
	ADD(0, X3)
	HALF()
	OTHERHALF()

	LOAD(16, X4)
	ADD(16, X4)
	HALF()
	OTHERHALF()
	SHA256MSG1 X4, X3

	LOAD(32, X5)
	ADD(32, X5)
	HALF()
	OTHERHALF()
	SHA256MSG1 X5, X4

	LOAD(48, X6)
	ADD(48, X6)
	HALF()
	EXTEND(X6, X5, X3)
	OTHERHALF()
	SHA256MSG1 X6, X5

	ADD(64, X3)
	HALF()
	EXTEND(X3, X6, X4)
	OTHERHALF()
	SHA256MSG1 X3, X6

	ADD(80, X4)
	HALF()
	EXTEND(X4, X3, X5)
	OTHERHALF()
	SHA256MSG1 X4, X3

	ADD(96, X5)
	HALF()
	EXTEND(X5, X4, X6)
	OTHERHALF()
	SHA256MSG1 X5, X4

	ADD(112, X6)
	HALF()
	EXTEND(X6, X5, X3)
	OTHERHALF()
	SHA256MSG1 X6, X5

	ADD(128, X3)
	HALF()
	EXTEND(X3, X6, X4)
	OTHERHALF()
	SHA256MSG1 X3, X6

	ADD(144, X4)
	HALF()
	EXTEND(X4, X3, X5)
	OTHERHALF()
	SHA256MSG1 X4, X3

	ADD(160, X5)
	HALF()
	EXTEND(X5, X4, X6)
	OTHERHALF()
	SHA256MSG1 X5, X4

	ADD(176, X6)
	HALF()
	EXTEND(X6, X5, X3)
	OTHERHALF()
	SHA256MSG1 X6, X5

	ADD(192, X3)
	HALF()
	EXTEND(X3, X6, X4)
	OTHERHALF()
	SHA256MSG1 X3, X6

	ADD(208, X4)
	HALF()
	EXTEND(X4, X3, X5)
	OTHERHALF()

	ADD(224, X5)
	HALF()
	EXTEND(X5, X4, X6)
	OTHERHALF()

	ADD(240, X6)
	HALF()
	OTHERHALF()

	PADDL X9, X1
	PADDL X10, X2
	PADDL X13, X11
	PADDL X14, X12
	ADDQ $64, SI
	DECQ CX
	JNZ block

	MOVOU X1, (DI)
	MOVOU X2, 16(DI)
	MOVOU X11, (DX)
	MOVOU X12, 16(DX)
	RET
