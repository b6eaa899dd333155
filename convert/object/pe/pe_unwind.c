/*
 * pe_unwind.c - the exception directory (section .pdata): where functions begin and end.
 *
 * x64: begin, end, unwind information; that of a part of a function may be chained to another entry. ARM and
 * ARM64: begin, and a word that has the length itself or is the address of unwind data that begins with it.
 * Functions without a frame are not in it. Sources: Microsoft's "x64 exception handling", "ARM64 exception
 * handling", "ARM exception handling".
 */
#include "convert/object/pe/pe.h"

#include "convert/object/coff.h"
#include "gsym/base/search.h"

enum {
	X64_ENTRY_SIZE = 12,
	ARM_ENTRY_SIZE = 8,
	UNW_FLAG_CHAININFO = 4,
	CHAIN_MAX = 32,
	JUMP = 0xe9, /* x86: to a relative address of 4 bytes */
	JUMP_SIZE = 5,
	PADDING = 0xcc,
};

struct unwind_entry {
	uint32_t begin, end, unwind; /* unwind: x64 only */
};

static struct unwind_entry take_x64(struct cursor *c)
{
	uint32_t begin = cursor_u32(c), end = cursor_u32(c), unwind = cursor_u32(c);
	return (struct unwind_entry){begin, end, unwind};
}

/* The length counts instructions: of 4 bytes, or 2 of Thumb code, whose addresses have bit 0 set. */
static struct unwind_entry take_arm(const struct object_file *object, struct cursor *c)
{
	uint32_t begin = cursor_u32(c), word = cursor_u32(c), unit = object->addr_size == 8 ? 4 : 2;
	uint32_t length = word >> 2 & 0x7ff;
	if (!(word & 3)) {
		struct span data = pe_bytes(object, word);
		length = data.size >= 4 ? load32(data.data, false) & 0x3ffff : 0;
	}
	if (unit == 2)
		begin &= ~1U;
	return (struct unwind_entry){begin, begin + length * unit, 0};
}

/* Begin of the function that an entry is a part of: its own, or that at the end of the chain. */
static uint32_t function_of(const struct object_file *object, struct unwind_entry e)
{
	for (unsigned n = 0; n < CHAIN_MAX; n++) {
		struct span info = pe_bytes(object, e.unwind);
		if (info.size < 4 || !(info.data[0] >> 3 & UNW_FLAG_CHAININFO))
			break;
		/* An even number of unwind codes of two bytes, then the other entry */
		struct cursor c = cursor_new(info.data, info.size, false);
		cursor_skip(&c, 4 + ((info.data[2] + 1U) & ~1U) * 2);
		struct unwind_entry other = take_x64(&c);
		if (!cursor_ok(&c))
			break;
		e = other;
	}
	return e.begin;
}

static int compare_range(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return COMPARE(x->lo, y->lo) ?: COMPARE(x->hi, y->hi);
}

int pe_list_functions(const struct object_file *object, range_vec *ret, struct damaged_entries *damaged)
{
	uint16_t machine = pe_of(object)->machine;
	bool x64 = machine == IMAGE_FILE_MACHINE_AMD64;
	bool arm = machine == IMAGE_FILE_MACHINE_ARM64 || machine == IMAGE_FILE_MACHINE_ARMNT;
	struct span bytes = pe_directory_bytes(object, DIRECTORY_EXCEPTION);
	struct cursor c = cursor_new(bytes.data, bytes.size, false);
	uint32_t reached = 0; /* entries are in order, and none in another */
	while ((x64 || arm) && cursor_can_hold(&c, 1, x64 ? X64_ENTRY_SIZE : ARM_ENTRY_SIZE)) {
		uint64_t at = cursor_off(&c);
		struct unwind_entry e = x64 ? take_x64(&c) : take_arm(object, &c);
		struct range r = {object->base_address + e.begin, object->base_address + e.end};
		bool possible = e.begin < e.end && r.lo < r.hi && ranges_find(&object->text, r.lo);
		if (e.end && (!possible || e.begin < reached)) /* all 0: padding */
			damage_count(damaged, ".pdata", at);
		if (!possible)
			continue;
		reached = e.end;
		uint64_t function = object->base_address + (x64 ? function_of(object, e) : e.begin);
		const struct range *last = ret->n ? &ret->v[ret->n - 1] : NULL;
		if (last && last->hi == r.lo && last->lo == function && function != r.lo)
			ret->v[ret->n - 1].hi = r.hi;
		else if (vec_push(ret, r))
			return -ENOMEM;
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_range);
	return 0;
}

/*
 * Returns whether @rva is in a table of jumps, through which incrementally linked programs call and export
 * functions: a jump that another one follows, or, for the last of a table, padding. It ends with the jump.
 */
static bool is_in_jump_table(const struct object_file *object, uint64_t rva)
{
	uint16_t machine = pe_of(object)->machine;
	if (machine != IMAGE_FILE_MACHINE_AMD64 && machine != IMAGE_FILE_MACHINE_I386)
		return false;
	struct span at = pe_bytes(object, rva), before = pe_bytes(object, rva - JUMP_SIZE);
	if (at.size <= JUMP_SIZE || at.data[0] != JUMP)
		return false;
	uint8_t next = at.data[JUMP_SIZE];
	return next == JUMP || (next == PADDING && before.size && before.data[0] == JUMP);
}

int pe_bound_symbols(struct object_file *object)
{
	range_vec *functions = &object->functions;
	int err = pe_list_functions(object, functions, &object->damaged_bounds);
	for (size_t i = 0; i < object->symbols.n && !err; i++) {
		struct symbol *s = &object->symbols.v[i];
		size_t at = PARTITION_POINT(0, functions->n, mid, functions->v[mid].lo < s->addr);
		if (at < functions->n && functions->v[at].lo == s->addr)
			s->size = functions->v[at].hi - s->addr;
		else if (!s->size && is_in_jump_table(object, s->addr - object->base_address))
			s->size = JUMP_SIZE;
	}
	if (!err)
		object_settle_functions(object, ".pdata");
	return err;
}
