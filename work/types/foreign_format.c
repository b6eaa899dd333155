#include "work/types/foreign_format.h"

#include "gsym/base/cursor.h"
#include "gsym/base/vec.h"

#include <string.h>

/* Files that begin with magic bytes. */
static const struct {
	const char *magic;
	size_t size;
	const char *what;
} magics[] = {
#define MAGIC(bytes, what)                     \
	{                                      \
		bytes, sizeof(bytes) - 1, what \
	}
	MAGIC("!<arch>\n", "an archive: extract its members with ar x"),
	MAGIC("!<thin>\n", "a thin archive: its members are files of their own"),
	MAGIC("<bigaf>\n", "an archive of AIX: extract its members with ar x"),
	MAGIC("\0asm", "WebAssembly, which is not read"),
	MAGIC("BC\xc0\xde", "LLVM bitcode, which is not read: compile and link it"),
	MAGIC("\xde\xc0\x17\x0b", "LLVM bitcode, which is not read: compile and link it"),
	MAGIC("\x01\xdf\0", "XCOFF, which is not read"),
	MAGIC("\x01\xf7\0", "XCOFF, which is not read"),
	MAGIC("\x03\xf0\0", "GOFF, which is not read"),
	MAGIC("\0\0\xff\xff", "a COFF object file, which is not read: link it"),
	MAGIC("VZ", "an EFI TE image, which is not read: give the PE file that it was made of"),
	MAGIC("MZ", "a program for DOS or 16-bit Windows, which is not read"),
	MAGIC("MDMP", "a minidump, which is no object file"),
	MAGIC("dyld_v1 ", "a shared cache of dyld, which is not read: extract its libraries"),
	MAGIC("dex\n", "Dalvik bytecode, which is not read"),
#undef MAGIC
};

/* Machines of COFF object files (Microsoft's "PE Format", "Machine Types"). */
static const uint16_t machines[] = {0x14c,  0x1c0,  0x1c2,  0x1c4,  0x8664, 0xaa64,
				    0xa641, 0xa64e, 0x5032, 0x5064, 0x6232, 0x6264};

/* A machine and sections, but no optional header, which programs have. */
static bool is_coff_object(struct span head)
{
	struct cursor c = cursor_new(head.data, head.size, false);
	uint16_t machine = cursor_u16(&c), n_sections = cursor_u16(&c);
	cursor_skip(&c, 12); /* time, place and number of symbols */
	uint16_t optional = cursor_u16(&c);
	bool known = false;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		known |= machines[i] == machine;
	return known && n_sections && !optional && cursor_ok(&c);
}

/* The version comes where universal files of Mach-O have the number of images, which is less. */
static bool is_java_class(struct span head)
{
	enum { VERSION_MIN = 43 };
	struct cursor c = cursor_new(head.data, head.size, true);
	return cursor_u32(&c) == 0xcafebabe && cursor_u32(&c) >= VERSION_MIN;
}

const char *foreign_format(struct span head)
{
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if (head.size >= magics[i].size && !memcmp(head.data, magics[i].magic, magics[i].size))
			return magics[i].what;
	if (is_java_class(head))
		return "a Java class, which is not read";
	return is_coff_object(head) ? "a COFF object file, which is not read: link it" : NULL;
}
