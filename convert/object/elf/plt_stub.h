/*
 * plt_stub.h - decoding the stubs of procedure linkage tables.
 *
 * Linkers lay out these tables in many ways, and no table maps entries to relocations. The code does: every
 * stub loads a pointer from a slot of the global offset table, and the relocation of that slot names the
 * function. One decoder a machine; a new machine is one decode_*() function and its cases in stub_step() and
 * stub_decode(). Encodings are those of the architecture manuals and processor supplements.
 */
#ifndef CONVERT_OBJECT_ELF_PLT_STUB_H
#define CONVERT_OBJECT_ELF_PLT_STUB_H

#include "gsym/base/cursor.h"

/* What decoding depends on. */
struct stub_machine {
	uint16_t machine; /* e_machine */
	uint8_t addr_size;
	bool big;      /* byte order of instructions */
	bool big_data; /* byte order of data between them */
	uint64_t base; /* base register of slot addresses: %ebx (i386), r2 (ppc64); 0 = unknown */
};

struct stub {
	uint64_t slot;   /* address of the pointer, when by_symbol is false */
	uint64_t symbol; /* index in .dynsym, when it is true */
	bool by_symbol;
	unsigned size;   /* upper bound of its bytes */
	unsigned prefix; /* of them before the instructions that identify it: no other stub begins there */
};

/* The alignment of stubs of this machine in bytes; 0: its stubs cannot be decoded. */
unsigned stub_step(const struct stub_machine *m);

/* Decodes the stub at the position of @code, which has address @addr. False when there is none. */
bool stub_decode(const struct stub_machine *m, struct cursor code, uint64_t addr, struct stub *ret);

#endif
