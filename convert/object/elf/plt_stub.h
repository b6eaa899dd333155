/*
 * plt_stub.h - what one stub of a procedure linkage table jumps through. Internal to the ELF files.
 *
 * Linkers lay these tables out in many ways, and none of them says which entry belongs to which relocation.
 * The code itself does: every stub loads a pointer from a slot of the global offset table, and the relocation
 * of that slot names the function. Encodings are those of the architecture manuals and processor supplements.
 */
#ifndef CONVERT_OBJECT_ELF_PLT_STUB_H
#define CONVERT_OBJECT_ELF_PLT_STUB_H

#include "gsym/base/cursor.h"

/* What the stubs of a file need to be understood. */
struct stub_machine {
	uint16_t machine; /* e_machine */
	uint8_t addr_size;
	bool big;      /* byte order of instructions */
	bool big_data; /* byte order of words between them */
	uint64_t base; /* what stubs address slots from: %ebx (i386), r2 (ppc64); 0 = unknown */
};

struct stub {
	uint64_t slot;   /* address of the pointer, when by_symbol is false */
	uint64_t symbol; /* index in .dynsym, when it is true */
	bool by_symbol;
	unsigned size;   /* no more bytes than these are its own */
	unsigned prefix; /* of them before what makes it a stub: no other one begins there */
};

/* Whether stubs of this machine can be read, and the distance of places where one may begin. 0: they cannot.
 */
unsigned stub_step(const struct stub_machine *m);

/* Decodes the stub at the position of @code, which has address @addr. False when there is none. */
bool stub_decode(const struct stub_machine *m, struct cursor code, uint64_t addr, struct stub *ret);

#endif
