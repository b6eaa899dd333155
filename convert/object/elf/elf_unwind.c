/*
 * elf_unwind.c - where functions begin and end, as unwind tables have it.
 *
 * .eh_frame has a range of code for each function, in an FDE, which refers to a CIE that says how addresses
 * are encoded. A function split in two has two FDEs: the second, a tail, begins with a frame that is set up
 * already, so it joins the function that it follows at once, and otherwise only ends the one before it.
 * Entries follow one another by their lengths, so that damage to one hides those behind it: what the table of
 * .eh_frame_hdr names, which has the beginning of each function and the place of its FDE, is read by that.
 * .ARM.exidx has starts alone, and one entry for neighbours that are unwound alike. Sources: Linux Standard
 * Base Core 5.0, 10.6; DWARF 5, 6.4; Exception Handling ABI for the Arm Architecture, 6.
 */
#include "convert/object/elf/elf.h"

#include "gsym/base/search.h"

#include <string.h>

enum {
	EXIDX_ENTRY_SIZE = 8,
	AUGMENTATION_MAX = 16,
	CIE_SIZE_MAX = 256, /* bytes read of one, since many FDEs may share it */
	TAIL_STEPS_MAX = 8, /* instructions of an FDE that are looked at */
	ROW_SIZE = 8,       /* of the table in .eh_frame_hdr: where a function begins, and its FDE */
};

/* How a pointer is encoded (LSB Core, 10.5.1). */
enum {
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

enum {
	CFA_ADVANCE_LOC = 1, /* the upper two bits */
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
};

struct cie {
	uint64_t at;
	uint8_t encoding;
	bool augmented; /* FDEs have the length of data before their instructions */
	bool known;     /* addresses can be read */
};

struct fde {
	struct range range; /* first, for range_compare() */
	bool tail;
};

struct eh_frame {
	struct object_file *object;
	struct cursor bytes;
	uint64_t addr;
	struct cursor header; /* .eh_frame_hdr from its table, */
	uint64_t header_addr, n_rows;
	bool ends;      /* its size is not known, so that a length of 0 is its end */
	struct cie cie; /* that was read last */
	VEC(struct fde) found;
};

enum entry {
	ENTRY_NONE, /* the end of what one object file had */
	ENTRY_CIE,
	ENTRY_FDE,
	ENTRY_DAMAGED,
};

/* ---- .eh_frame ---- */

static uint64_t narrow(const struct object_file *object, uint64_t addr)
{
	return object->addr_size == 8 ? addr : (uint32_t)addr;
}

/* A number of format @encoding; without its base. */
static uint64_t take_number(struct cursor *c, uint8_t encoding, uint8_t addr_size)
{
	switch (encoding & PE_FORMAT) {
	case 0: return cursor_uint(c, addr_size);
	case PE_ULEB128: return cursor_uleb(c);
	case PE_SLEB128: return (uint64_t)cursor_sleb(c);
	case PE_UDATA2: return cursor_u16(c);
	case PE_SDATA2: return (uint64_t)(int16_t)cursor_u16(c);
	case PE_UDATA4: return cursor_u32(c);
	case PE_SDATA4: return (uint64_t)(int32_t)cursor_u32(c);
	case PE_UDATA8:
	case PE_SDATA8: return cursor_u64(c);
	}
	cursor_fail(c);
	return 0;
}

/* The data of an augmentation that begins with z, one letter after the other. */
static void read_augmentation(struct cursor *c, const char *letters, uint8_t addr_size, struct cie *ret)
{
	cursor_uleb(c);
	for (; *letters && cursor_ok(c); letters++) {
		if (*letters == 'R')
			ret->encoding = cursor_u8(c);
		else if (*letters == 'L')
			cursor_skip(c, 1);
		else if (*letters == 'P')
			take_number(c, cursor_u8(c), addr_size);
		else if (!strchr("SBG", *letters))
			return; /* what follows is not known, but R comes first */
	}
}

/* The CIE at offset @at. */
static struct cie read_cie(const struct eh_frame *e, uint64_t at)
{
	struct cie cie = {.at = at};
	struct cursor c = e->bytes;
	cursor_seek(&c, at);
	uint64_t size = cursor_u32(&c);
	if (size == UINT32_MAX)
		size = cursor_u64(&c);
	c = cursor_window(&c, size < CIE_SIZE_MAX ? size : CIE_SIZE_MAX);
	uint32_t id = cursor_u32(&c);
	uint8_t version = cursor_u8(&c), addr_size = e->object->addr_size;
	char letters[AUGMENTATION_MAX] = "";
	size_t n = 0;
	while ((letters[n] = (char)cursor_u8(&c)) && n < sizeof(letters) - 1)
		n++;
	if (letters[n] || id)
		return cie;
	if (version >= 4)
		cursor_skip(&c, 2); /* sizes of addresses and segments */
	cursor_uleb(&c);
	cursor_sleb(&c);
	if (version == 1)
		cursor_skip(&c, 1);
	else
		cursor_uleb(&c);
	cie.augmented = *letters == 'z';
	if (cie.augmented)
		read_augmentation(&c, letters + 1, addr_size, &cie);
	uint8_t base = cie.encoding & (PE_BASE | PE_INDIRECT);
	cie.known = cursor_ok(&c) && (cie.augmented || !*letters) && (!base || base == PE_PCREL);
	return cie;
}

/* Returns whether the frame that functions are entered with is changed before the first instruction. */
static bool begins_inside(struct cursor c)
{
	for (unsigned i = 0; i < TAIL_STEPS_MAX && cursor_left(&c); i++) {
		uint8_t op = cursor_u8(&c);
		if (op == CFA_DEF_CFA || op == CFA_DEF_CFA_REGISTER || op == CFA_DEF_CFA_OFFSET)
			return true;
		if (op >> 6 != 2) /* DW_CFA_offset: a register that is saved */
			return false;
		cursor_uleb(&c);
	}
	return false;
}

/* @c: an FDE after the offset of its CIE, which is at @cie. Returns whether it is possible. */
static bool read_fde(struct eh_frame *e, struct cursor c, uint64_t cie, struct fde *ret)
{
	const struct object_file *object = e->object;
	if (!e->cie.known || e->cie.at != cie)
		e->cie = read_cie(e, cie);
	if (!e->cie.known)
		return false;
	uint64_t place = e->addr + (uint64_t)(c.pos - e->bytes.start), size;
	uint64_t lo = take_number(&c, e->cie.encoding, object->addr_size);
	lo = narrow(object, e->cie.encoding & PE_PCREL ? lo + place : lo) & ~object->mode_bits;
	size = narrow(object, take_number(&c, e->cie.encoding & PE_FORMAT, object->addr_size));
	if (e->cie.augmented)
		cursor_skip(&c, cursor_uleb(&c));
	*ret = (struct fde){.range = {lo, lo + size}, .tail = begins_inside(c)};
	const struct range *text = ranges_find(&object->text, lo);
	return cursor_ok(&c) && text && size <= text->hi - lo;
}

/* Takes the entry at @c, which goes on behind it unless its end is not known: then nothing is left there. */
static enum entry take_entry(struct eh_frame *e, struct cursor *c, struct fde *ret)
{
	uint64_t size = cursor_u32(c);
	if (size == UINT32_MAX)
		size = cursor_u64(c);
	if (cursor_ok(c) && !size)
		return ENTRY_NONE;
	struct cursor entry = cursor_window(c, size);
	uint64_t at = cursor_off(c) - size, back = cursor_u32(&entry);
	if (!cursor_ok(c) || !cursor_ok(&entry) || back > at)
		return ENTRY_DAMAGED;
	if (!back)
		return ENTRY_CIE;
	return read_fde(e, entry, at - back, ret) ? ENTRY_FDE : ENTRY_DAMAGED;
}

static int read_frames(struct eh_frame *e)
{
	struct cursor c = e->bytes;
	enum entry entry = ENTRY_CIE;
	while (cursor_left(&c) >= 4 && !(entry == ENTRY_NONE && e->ends)) {
		uint64_t at = cursor_off(&c);
		struct fde fde;
		entry = take_entry(e, &c, &fde);
		if (entry == ENTRY_DAMAGED)
			damage_count(&e->object->damaged_bounds, ".eh_frame", at);
		else if (entry == ENTRY_FDE && fde.range.lo < fde.range.hi && vec_push(&e->found, fde))
			return -ENOMEM;
	}
	return 0;
}

static void sort_found(struct eh_frame *e)
{
	if (e->found.n)
		qsort(e->found.v, e->found.n, sizeof(*e->found.v), range_compare);
}

/*
 * Adds the functions of .eh_frame_hdr's table that @e, which is sorted, lacks. If a row's FDE begins
 * elsewhere or cannot be read, the function gets the row's start and no end of its own.
 */
static int read_rows(struct eh_frame *e)
{
	struct damaged_entries *damaged = &e->object->damaged_bounds;
	size_t n = e->found.n;
	bool whole = !damaged->n;
	for (uint64_t left = e->n_rows; left; left--) {
		uint64_t row = cursor_off(&e->header);
		uint64_t lo = e->header_addr + (uint64_t)(int32_t)cursor_u32(&e->header);
		uint64_t place = e->header_addr + (uint64_t)(int32_t)cursor_u32(&e->header);
		lo = narrow(e->object, lo) & ~e->object->mode_bits;
		place = narrow(e->object, place - e->addr);
		const struct range *text = ranges_find(&e->object->text, lo);
		size_t i = PARTITION_POINT(0, n, mid, e->found.v[mid].range.lo < lo);
		if (!text)
			damage_count(damaged, ".eh_frame_hdr", row);
		if (!text || (i < n && e->found.v[i].range.lo == lo))
			continue;
		struct cursor c = e->bytes;
		struct fde fde;
		cursor_seek(&c, place);
		bool read = take_entry(e, &c, &fde) == ENTRY_FDE && fde.range.lo == lo;
		if (read && fde.range.hi == lo)
			continue;
		if (!read)
			fde = (struct fde){.range = {lo, text->hi}};
		if (!read || whole)
			damage_count(damaged, ".eh_frame", place);
		if (vec_push(&e->found, fde))
			return -ENOMEM;
	}
	return 0;
}

/* Makes functions of what was found. */
static int join_tails(struct eh_frame *e, range_vec *ret)
{
	for (size_t i = 0; i < e->found.n; i++) {
		const struct fde *fde = &e->found.v[i];
		struct range *last = ret->n ? &ret->v[ret->n - 1] : NULL;
		if (fde->tail && last && last->hi == fde->range.lo)
			last->hi = fde->range.hi;
		else if (vec_push(ret, fde->range))
			return -ENOMEM;
	}
	return 0;
}

/* The bytes of a loaded section, or of the segment of @type if there are no sections, and their address. */
static struct span table_bytes(struct object_file *object, const char *name, uint32_t type,
			       uint64_t *ret_addr)
{
	struct object_section *s = object_section(object, name);
	if (!object->sections.n)
		return elf_segment(object, type, ret_addr);
	if (!s || !s->allocated || s->compression != COMPRESSION_NONE)
		return (struct span){0};
	*ret_addr = s->addr;
	return s->raw;
}

/* .eh_frame_hdr has the address of .eh_frame, and a table of functions that is to be searched. */
static void read_header(struct eh_frame *e)
{
	struct object_file *object = e->object;
	struct span bytes = table_bytes(object, ".eh_frame_hdr", PT_GNU_EH_FRAME, &e->header_addr);
	struct cursor c = cursor_new(bytes.data, bytes.size, object->big_endian);
	uint8_t version = cursor_u8(&c), encoding = cursor_u8(&c), of_number = cursor_u8(&c),
		of_rows = cursor_u8(&c), base = encoding & (PE_BASE | PE_INDIRECT);
	uint64_t addr = take_number(&c, encoding, object->addr_size);
	addr = narrow(object, base == PE_PCREL ? addr + e->header_addr + 4 : addr);
	struct span frames = cursor_ok(&c) && (!base || base == PE_PCREL) ? object_bytes_at(object, addr)
									  : (struct span){0};
	if (!object->sections.n) {
		e->bytes = cursor_new(frames.data, frames.size, object->big_endian);
		e->addr = addr;
		e->ends = true;
	}
	bool searched = of_rows != PE_OMIT && of_number != PE_OMIT;
	uint64_t n = searched ? take_number(&c, of_number, object->addr_size) : 0;
	bool sound = version == 1 && cursor_ok(&c) && cursor_can_hold(&c, n, ROW_SIZE) &&
		     (!searched || of_rows == (PE_DATAREL | PE_SDATA4));
	if (!sound && bytes.size)
		damage_count(&object->damaged_bounds, ".eh_frame_hdr", 0);
	if (sound) {
		e->header = c;
		e->n_rows = n;
	}
}

static int read_eh_frame(struct object_file *object)
{
	struct eh_frame e = {.object = object};
	if (object->sections.n) {
		struct span bytes = table_bytes(object, ".eh_frame", PT_GNU_EH_FRAME, &e.addr);
		e.bytes = cursor_new(bytes.data, bytes.size, object->big_endian);
	}
	read_header(&e);
	int err = read_frames(&e);
	sort_found(&e);
	if (!err)
		err = read_rows(&e);
	sort_found(&e);
	if (!err)
		err = join_tails(&e, &object->functions);
	vec_free(&e.found);
	if (!err)
		object_settle_functions(object, ".eh_frame");
	return err;
}

/* ---- .ARM.exidx ---- */

static int read_exidx(struct object_file *object)
{
	if (object->machine != EM_ARM)
		return 0;
	uint64_t addr = 0;
	uint32_t last = 0;
	struct span bytes = table_bytes(object, ".ARM.exidx", PT_ARM_EXIDX, &addr);
	struct cursor c = cursor_new(bytes.data, bytes.size, object->big_endian);
	while (cursor_can_hold(&c, 1, EXIDX_ENTRY_SIZE)) {
		uint64_t place = addr + cursor_off(&c);
		uint32_t word = cursor_u32(&c); /* 31 bits with sign */
		cursor_skip(&c, 4);
		uint32_t start = ((uint32_t)place + (uint32_t)((int32_t)(word << 1) >> 1)) & ~1U;
		const struct range *text = ranges_find(&object->text, start);
		if (word >> 31 || start < last || !(text || ranges_find(&object->text, start - 1)))
			damage_count(&object->damaged_bounds, ".ARM.exidx", place - addr);
		last = start;
		if (text && vec_push(&object->functions, (struct range){start, text->hi}))
			return -ENOMEM;
	}
	object_settle_functions(object, ".ARM.exidx");
	return 0;
}

int elf_list_functions(struct object_file *object)
{
	if (object->relocatable)
		return 0; /* the tables have no addresses yet, and nothing was stripped of a symbol */
	int err = read_exidx(object);
	return err || object->functions.n ? err : read_eh_frame(object);
}
