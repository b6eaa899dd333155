/*
 * layout.c - the order of sections, gsym(5) "Version 1" and "Version 2". Both versions share it; version 2
 * has the UUID in front and directory entries for all, version 1 has fields of 32 bits and so ends at 4 GiB.
 */
#include "gsym/write/layout.h"

#include "gsym/base/diag.h"

#include <errno.h>
#include <inttypes.h>

static uint8_t smallest_size(uint64_t value)
{
	if (value <= UINT8_MAX)
		return 1;
	if (value <= UINT16_MAX)
		return 2;
	return value <= UINT32_MAX ? 4 : 8;
}

/* Appends a section. Sums cannot wrap: every size is that of an object in memory. */
static void put_section(struct layout *l, enum global_info section, uint64_t size, uint64_t align)
{
	l->file_size = (l->file_size + align - 1) & ~(align - 1);
	l->off[section] = l->file_size;
	l->size[section] = size;
	l->file_size += size;
}

/* The order of both versions after the header and the UUID. */
static void put_tables(const struct layout_input *in, struct layout *l, unsigned strp_size,
		       unsigned info_size)
{
	put_section(l, GlobalInfo_AddrOffsets, in->num_addresses * l->addr_off_size, l->addr_off_size);
	put_section(l, GlobalInfo_AddrInfoOffsets, in->num_addresses * info_size, info_size);
	put_section(l, GlobalInfo_FileTable, 4 + in->num_files * 2 * strp_size, 4);
	put_section(l, GlobalInfo_StringTable, in->strtab_size, 1);
	put_section(l, GlobalInfo_FunctionInfo, in->records_size, RECORD_ALIGN);
}

static int check_v1(const struct layout_input *in, const struct layout *l, struct gsym_diag *diag)
{
	uint64_t strtab = l->off[GlobalInfo_StringTable];
	uint64_t last = l->off[GlobalInfo_FunctionInfo] + in->last_record;
	if (in->uuid_size > V1_UUID_MAX)
		return diag_set(diag, -EOVERFLOW,
				"UUID at offset 0x%x of %" PRIu64 " bytes: version 1 holds %d", V1_UUID_OFF,
				in->uuid_size, V1_UUID_MAX);
	if (strtab > UINT32_MAX || in->strtab_size > UINT32_MAX)
		return diag_set(diag, -EOVERFLOW,
				"string table at offset 0x%" PRIx64 " of 0x%" PRIx64
				" bytes: version 1 counts both with 32 bits",
				strtab, in->strtab_size);
	if (last > UINT32_MAX)
		return diag_set(diag, -EOVERFLOW,
				"last function record at offset 0x%" PRIx64
				": version 1 holds offsets of 32 bits",
				last);
	return 0;
}

int layout_make(const struct layout_input *in, struct layout *ret, struct gsym_diag *diag)
{
	struct layout l = {.addr_off_size = smallest_size(in->last_offset)};
	if (in->num_addresses > UINT32_MAX)
		return diag_set(diag, -EOVERFLOW,
				"header at offset 0: %" PRIu64 " functions, 32 bits count them",
				in->num_addresses);
	if (in->version == 1) {
		l.file_size = V1_HEADER_SIZE;
		put_tables(in, &l, V1_STRP_SIZE, 4);
		int err = check_v1(in, &l, diag);
		if (err)
			return err;
	} else {
		unsigned entries = in->uuid_size ? GLOBAL_INFO_KNOWN : GLOBAL_INFO_KNOWN - 1;
		l.file_size = V2_HEADER_SIZE + entries * GLOBAL_ENTRY_SIZE;
		put_section(&l, GlobalInfo_UUID, in->uuid_size, 1);
		put_tables(in, &l, V2_STRP_SIZE, 8);
	}
	*ret = l;
	return 0;
}
