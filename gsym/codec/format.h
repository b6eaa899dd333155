/*
 * format.h - constants of the GSYM format, versions 1 and 2 (gsym(5)).
 *
 * Internal. Names of constants are spelled as in the format's specification.
 */
#ifndef GSYM_CODEC_FORMAT_H
#define GSYM_CODEC_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GSYM_MAGIC = 0x4753594d, /* "MYSG" in a little-endian file, "GSYM" in a big-endian one */

	HEADER_VERSION_OFF = 4,
	V1_HEADER_SIZE = 48,
	V1_UUID_OFF = 28,
	V1_UUID_MAX = 20,
	V2_HEADER_SIZE = 20,
	V2_STRING_ENCODING_LIST = 0, /* consecutive NUL-terminated strings */
	GLOBAL_ENTRY_SIZE = 20,      /* one GlobalData entry of version 2: u32 type, u64 offset, u64 size */

	V1_STRP_SIZE = 4,
	V2_STRP_SIZE = 8,
	RECORD_ALIGN = 4, /* of a FunctionInfo in the file; merged ones are not aligned */
};

/* Types of GlobalData entries (version 2). Version 1 has the same sections, but no directory. */
enum global_info {
	GlobalInfo_EndOfList = 0,
	GlobalInfo_AddrOffsets = 1,
	GlobalInfo_AddrInfoOffsets = 2,
	GlobalInfo_StringTable = 3,
	GlobalInfo_FileTable = 4,
	GlobalInfo_FunctionInfo = 5,
	GlobalInfo_UUID = 6,
	GLOBAL_INFO_KNOWN, /* number of types we know */
};

/* Types of the blocks of a FunctionInfo. */
enum info_type {
	InfoType_EndOfList = 0,
	InfoType_LineTable = 1,
	InfoType_InlineInfo = 2,
	InfoType_MergedFunctionsInfo = 3,
	InfoType_CallSiteInfo = 4,
	INFO_TYPE_KNOWN,
};

/* Opcodes of a line table. */
enum line_op {
	LineOp_EndSequence = 0,
	LineOp_SetFile = 1,
	LineOp_AdvancePC = 2,
	LineOp_AdvanceLine = 3,
	LineOp_FirstSpecial = 4,
	LineOp_LastSpecial = 255,
};

enum {
	LINE_FIRST_FILE = 1,     /* the file register before the first opcode */
	INLINE_DEPTH_MAX = 1024, /* ours: as deep as compilers instantiate templates */
};

/* What the numbers in a record refer to: the tables of the file it is read from or written to. */
struct gsym_tables {
	unsigned strp_size;   /* V1_STRP_SIZE or V2_STRP_SIZE */
	uint64_t strtab_size; /* a string is an offset below this */
	uint32_t num_files;   /* a file is an index below this, or 0 */
	bool compact;         /* line tables are written in fewer bytes than LLVM's encoder takes */
};

static inline bool tables_have_string(const struct gsym_tables *t, uint64_t strp)
{
	return strp < t->strtab_size;
}

static inline bool tables_have_file(const struct gsym_tables *t, uint64_t file)
{
	return file < t->num_files || file == 0;
}

static inline bool addr_off_size_valid(unsigned size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

#endif
