#include "work/types/convert_revision.h"

#include <stdio.h>
#include <string.h>

/* The comments name the folders of convert/ that a number is of, which `layers` compares with the tree. */
const char *const convert_revisions[READERS] = {
	/* convert, build, companion, finish, object, object/inflate, record */
	[READER_COMMON] = "common=1",
	/* object/elf */
	[READER_ELF] = "elf=2",
	/* object/macho */
	[READER_MACHO] = "macho=1",
	/* object/pe */
	[READER_PE] = "pe=1",
	/* object/pdb, codeview */
	[READER_PDB] = "pdb=1",
	/* breakpad */
	[READER_BREAKPAD] = "breakpad=1",
	/* dwarf */
	[READER_DWARF] = "dwarf=2",
	/* golang */
	[READER_GO] = "go=1",
	/* None, since they make no conversion: identity (IDENTITY_REVISION), verify */
};

static char *write_revisions(unsigned readers, char ret[static REVISION_TEXT_SIZE])
{
	size_t n = 0;
	ret[0] = 0;
	for (unsigned i = 0; i < READERS; i++)
		if (readers & 1U << i && n < REVISION_TEXT_SIZE)
			n += (size_t)snprintf(ret + n, REVISION_TEXT_SIZE - n, "%s%s", n ? " " : "",
					      convert_revisions[i]);
	return ret;
}

char *convert_revision(enum image_kind kind, enum image_kind binary, char ret[static REVISION_TEXT_SIZE])
{
	unsigned readers = image_traits[kind].readers | image_traits[binary].readers;
	return write_revisions(1U << READER_COMMON | readers, ret);
}

char *convert_revision_all(char ret[static REVISION_TEXT_SIZE])
{
	return write_revisions((1U << READERS) - 1, ret);
}
