/*
 * Decoding checks what a lookup needs: the bounds, the references and the order of what it uses. This is
 * followed by a second walk over the bytes of each record, for what decoding passes over: bytes that nothing
 * reads, numbers that are longer than they need to be, and states of a line table in which no row is made.
 */
#include "gsym/check/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gsym/base/diag.h"
#include "gsym/base/vec.h"
#include "gsym/codec/header.h"
#include "gsym/read/reader.h"

enum {
	/* Bytes of records decoded, in sizes of the file: equal functions share a record. */
	RECORDS_SHARED = 16,
};

/* Bytes of a file that belong to something. */
struct extent {
	uint64_t off, end;
};

struct format_check {
	const struct gsym_reader *reader;
	const struct check_report *report;
	const atomic_bool *canceled; /* NULL: the check is neither canceled nor bounded by RECORDS_SHARED */
	bool is_ended;               /* by the report */
	VEC(struct extent) records;
	struct gsym_func last; /* the function before; its pointers are not valid */
};

static bool is_settled(const struct format_check *c)
{
	return c->is_ended || (c->canceled && atomic_load_explicit(c->canceled, memory_order_relaxed));
}

static void fault(struct format_check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void fault(struct format_check *c, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!c->is_ended)
		c->is_ended = !c->report->fault(c->report->user, text);
}

static uint64_t offset_of(const struct format_check *c, const void *at)
{
	return (uint64_t)((const uint8_t *)at - c->reader->bytes.data);
}

/* ---- Tables ---- */

static int compare_extents(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;
	return COMPARE(x->off, y->off) ?: COMPARE(x->end, y->end);
}

static bool are_zero(const struct format_check *c, uint64_t from, uint64_t to)
{
	while (from < to && !c->reader->bytes.data[from])
		from++;
	return from >= to;
}

/* Faults of a table by itself; @align is a power of two. */
static void check_table(struct format_check *c, enum global_info type, const struct table_range *t,
			uint64_t align)
{
	if (t->off & (align - 1))
		fault(c, "%s at offset 0x%" PRIx64 ": not aligned to %" PRIu64 " bytes",
		      header_table_name(type), t->off, align);
}

/* The directory of version 2; gives its end. It has been read once, so that it does end. */
static uint64_t check_directory(struct format_check *c)
{
	const struct gsym_reader *r = c->reader;
	struct cursor at = cursor_new(r->bytes.data, r->bytes.size, r->info.big_endian);
	unsigned seen = 0;
	cursor_seek(&at, V2_HEADER_SIZE);
	for (;;) {
		uint64_t entry = cursor_off(&at);
		uint32_t type = cursor_u32(&at);
		uint64_t off = cursor_u64(&at), size = cursor_u64(&at);
		if (type == GlobalInfo_EndOfList) {
			if (off || size)
				fault(c, "directory entry at offset 0x%" PRIx64 ": the last, but not zero",
				      entry);
			return cursor_off(&at);
		}
		if (type >= GLOBAL_INFO_KNOWN)
			fault(c, "directory entry at offset 0x%" PRIx64 ": unknown type %" PRIu32, entry,
			      type);
		else if (seen & 1u << type)
			fault(c, "directory entry at offset 0x%" PRIx64 ": second one for %s", entry,
			      header_table_name(type));
		else
			seen |= 1u << type;
	}
}

/* The string table begins with the empty string, and all of it are strings. */
static void check_strings(struct format_check *c, const struct table_range *t)
{
	const uint8_t *strings = c->reader->bytes.data + t->off;
	if (strings[0])
		fault(c, "string table at offset 0x%" PRIx64 ": its first string is not empty", t->off);
	if (strings[t->size - 1])
		fault(c, "string table at offset 0x%" PRIx64 ": no NUL ends its last string", t->off);
}

/* No two tables share bytes, nothing but zeros is between them, and nothing follows the last. */
static void check_order(struct format_check *c, const struct gsym_header *h, uint64_t header_end)
{
	struct extent tables[GLOBAL_INFO_KNOWN] = {{0, header_end}};
	size_t n = 1;
	for (int type = GlobalInfo_AddrOffsets; type < GLOBAL_INFO_KNOWN; type++)
		if (h->tables[type].present)
			tables[n++] = (struct extent){h->tables[type].off,
						      h->tables[type].off + h->tables[type].size};
	qsort(tables, n, sizeof(*tables), compare_extents);
	for (size_t i = 1; i < n; i++) {
		if (tables[i].off < tables[i - 1].end)
			fault(c, "table at offset 0x%" PRIx64 ": begins within what ends at 0x%" PRIx64,
			      tables[i].off, tables[i - 1].end);
		else if (!are_zero(c, tables[i - 1].end, tables[i].off))
			fault(c, "padding before the table at offset 0x%" PRIx64 " is not zero",
			      tables[i].off);
	}
	if (tables[n - 1].end < c->reader->bytes.size)
		fault(c, "bytes after the last table, which ends at 0x%" PRIx64, tables[n - 1].end);
}

/* What version 1 does not state: where the file table ends, and that the records follow the strings. */
static uint64_t complete_v1(struct format_check *c, struct gsym_header *h)
{
	const struct gsym_reader *r = c->reader;
	const struct table_range *strings = &h->tables[GlobalInfo_StringTable];
	uint64_t records = (strings->off + strings->size + RECORD_ALIGN - 1) & ~(uint64_t)(RECORD_ALIGN - 1);
	if (records > r->bytes.size)
		records = r->bytes.size;
	h->tables[GlobalInfo_FileTable].size = 4 + (uint64_t)r->info.num_files * 2 * V1_STRP_SIZE;
	h->tables[GlobalInfo_FunctionInfo] =
		(struct table_range){records, r->bytes.size - records, records < r->bytes.size};
	if (!are_zero(c, V1_UUID_OFF + h->uuid.size, V1_HEADER_SIZE))
		fault(c, "header at offset 0x%x: bytes after the UUID are not zero", V1_UUID_OFF);
	return V1_HEADER_SIZE;
}

static void check_tables(struct format_check *c, struct gsym_header *ret)
{
	const struct gsym_reader *r = c->reader;
	struct gsym_header *h = ret;
	(void)header_decode(r->bytes, h, NULL); /* as when the reader was opened */
	uint64_t header_end = h->version == 1 ? complete_v1(c, h) : check_directory(c);
	uint64_t files_size = 4 + (uint64_t)r->info.num_files * 2 * r->info.strp_size;
	if (h->tables[GlobalInfo_FileTable].size != files_size)
		fault(c,
		      "file table at offset 0x%" PRIx64 " of 0x%" PRIx64 " bytes: its %" PRIu32
		      " files have 0x%" PRIx64,
		      h->tables[GlobalInfo_FileTable].off, h->tables[GlobalInfo_FileTable].size,
		      r->info.num_files, files_size);
	check_table(c, GlobalInfo_AddrOffsets, &h->tables[GlobalInfo_AddrOffsets], h->addr_off_size);
	check_table(c, GlobalInfo_AddrInfoOffsets, &h->tables[GlobalInfo_AddrInfoOffsets],
		    h->version == 1 ? 4 : 8);
	check_table(c, GlobalInfo_FileTable, &h->tables[GlobalInfo_FileTable], 4);
	check_table(c, GlobalInfo_FunctionInfo, &h->tables[GlobalInfo_FunctionInfo], RECORD_ALIGN);
	check_strings(c, &h->tables[GlobalInfo_StringTable]);
	check_order(c, h, header_end);
}

static void check_addresses(struct format_check *c)
{
	const struct gsym_info *info = &c->reader->info;
	for (uint32_t i = 0; i < info->num_addresses && !is_settled(c); i++) {
		uint64_t off = reader_addr_off(c->reader, i), at = (uint64_t)i * info->addr_off_size;
		if (i > 0 && off < reader_addr_off(c->reader, i - 1))
			fault(c,
			      "address table: entry %" PRIu32 " at offset 0x%" PRIx64
			      " is lower than the one before it",
			      i, offset_of(c, c->reader->addr_offs) + at);
		if (off > UINT64_MAX - info->base_address)
			fault(c,
			      "address table: entry %" PRIu32 " at offset 0x%" PRIx64
			      " passes the end of the address space",
			      i, offset_of(c, c->reader->addr_offs) + at);
	}
}

static void check_files(struct format_check *c)
{
	uint64_t dir, base;
	if (!c->reader->info.num_files)
		fault(c, "file table at offset 0x%" PRIx64 ": no entry 0",
		      offset_of(c, c->reader->files) - sizeof(uint32_t));
	for (uint32_t i = 0; i < c->reader->info.num_files && !is_settled(c); i++) {
		uint64_t at = offset_of(c, c->reader->files) + (uint64_t)i * 2 * c->reader->info.strp_size;
		if (gsym_reader_file_strings(c->reader, i, &dir, &base))
			fault(c, "file table: entry %" PRIu32 " at offset 0x%" PRIx64 " cannot be read", i,
			      at);
		else if (!gsym_reader_string(c->reader, dir) || !gsym_reader_string(c->reader, base))
			fault(c,
			      "file table: entry %" PRIu32 " at offset 0x%" PRIx64 " names strings 0x%" PRIx64
			      " and 0x%" PRIx64 " of a table of %" PRIu64 " bytes",
			      i, at, dir, base, c->reader->info.strtab_size);
		else if (i == 0 && (dir || base))
			fault(c, "file table: entry 0 at offset 0x%" PRIx64 " is not empty", at);
	}
}

/* ---- The bytes of a record that has been decoded ---- */

/* A walk over the bytes of one record. All it reads has been decoded once, and so is there. */
struct walk {
	struct format_check *check;
	uint32_t index; /* of the function */
};

static void record_fault(const struct walk *w, const struct cursor *at, const char *what)
{
	fault(w->check, "function %" PRIu32 ": %s, before offset 0x%" PRIx64, w->index, what, cursor_off(at));
}

static uint64_t walk_uleb(const struct walk *w, struct cursor *c)
{
	const uint8_t *from = c->pos;
	uint64_t value = cursor_uleb(c);
	if (c->pos - from > 1 && !c->pos[-1])
		record_fault(w, c, "number with more bytes than it needs");
	return value;
}

static int64_t walk_sleb(const struct walk *w, struct cursor *c)
{
	const uint8_t *from = c->pos;
	int64_t value = cursor_sleb(c);
	if (c->pos - from > 1 && c->pos[-1] == (c->pos[-2] & 0x40 ? 0x7f : 0))
		record_fault(w, c, "number with more bytes than it needs");
	return value;
}

static void walk_end(const struct walk *w, const struct cursor *c, const char *what)
{
	if (cursor_left(c))
		record_fault(w, c, what);
}

/* Adds to the line, which stays one after each opcode; false if it does not. */
static bool add_line(const struct walk *w, const struct cursor *c, int64_t delta, int64_t *line)
{
	if (__builtin_add_overflow(*line, delta, line) || *line < 0 || *line > UINT32_MAX) {
		record_fault(w, c, "line outside 32 bits");
		return false;
	}
	return true;
}

static void walk_lines(const struct walk *w, struct cursor c)
{
	int64_t min = walk_sleb(w, &c), max = walk_sleb(w, &c), line = 0;
	uint64_t range = (uint64_t)max - (uint64_t)min + 1, first = walk_uleb(w, &c);
	bool is_line = first <= UINT32_MAX && add_line(w, &c, (int64_t)first, &line), has_rows = false;
	if (first > UINT32_MAX)
		record_fault(w, &c, "first line outside 32 bits");
	while (is_line && cursor_left(&c)) {
		uint8_t op = cursor_u8(&c);
		if (op == LineOp_EndSequence)
			break;
		if (op == LineOp_SetFile && walk_uleb(w, &c) >= w->check->reader->info.num_files)
			record_fault(w, &c, "file index past the file table");
		if (op == LineOp_AdvancePC)
			(void)walk_uleb(w, &c);
		if (op == LineOp_AdvanceLine)
			is_line = add_line(w, &c, walk_sleb(w, &c), &line);
		if (op >= LineOp_FirstSpecial)
			is_line = add_line(w, &c, min + (int64_t)((op - LineOp_FirstSpecial) % range), &line);
		has_rows |= op >= LineOp_FirstSpecial || op == LineOp_AdvancePC;
	}
	if (is_line && !has_rows)
		record_fault(w, &c, "line table without a row");
	if (is_line)
		walk_end(w, &c, "bytes after the end of a line table");
}

/* Ranges of a node: @n of them, which do not touch. Their sums have been checked. */
static void walk_ranges(const struct walk *w, struct cursor *c, uint64_t n)
{
	uint64_t end = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = walk_uleb(w, c), size = walk_uleb(w, c);
		if (i && start == end)
			record_fault(w, c, "ranges of an inlined call touch");
		end = start + size;
	}
}

/* The node for the function itself: whether there are others. */
static bool walk_root(const struct walk *w, struct cursor *c, const struct gsym_func *func)
{
	uint64_t n = walk_uleb(w, c), start = n ? walk_uleb(w, c) : 0, size = n ? walk_uleb(w, c) : 0;
	if (n != 1 || start || size != func->size) {
		record_fault(w, c, "outermost node of the inlined calls has another range than its function");
		return false;
	}
	bool has_children = cursor_u8(c);
	uint64_t name = cursor_uint(c, w->check->reader->info.strp_size), file = walk_uleb(w, c),
		 line = walk_uleb(w, c);
	if (name != func->name || file || line)
		record_fault(w, c, "outermost node of the inlined calls is not that of its function");
	return has_children;
}

static void walk_inlines(const struct walk *w, struct cursor c, const struct gsym_func *func)
{
	bool is_first = walk_root(w, &c, func); /* of its list of siblings */
	for (uint32_t depth = is_first; depth && !w->check->is_ended;) {
		uint64_t n = walk_uleb(w, &c);
		if (!n) {
			if (is_first)
				record_fault(w, &c, "inlined call with an empty list of calls");
			is_first = false;
			depth--;
			continue;
		}
		walk_ranges(w, &c, n);
		is_first = cursor_u8(&c);
		depth += is_first;
		cursor_skip(&c, w->check->reader->info.strp_size);
		(void)walk_uleb(w, &c);
		(void)walk_uleb(w, &c);
	}
	walk_end(w, &c, "bytes after the inlined calls");
}

static void walk_callsites(const struct walk *w, struct cursor c, const struct gsym_func *func)
{
	enum { FLAGS = 3 }; /* the callee can only be in this image, or in another one */
	uint32_t count = cursor_u32(&c);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t off = cursor_u64(&c);
		uint8_t flags = cursor_u8(&c);
		uint32_t patterns = cursor_u32(&c);
		if (flags & ~FLAGS)
			record_fault(w, &c, "call site with unknown flags");
		if (func->size && off > func->size)
			record_fault(w, &c, "call site outside its function");
		cursor_skip(&c, (uint64_t)patterns * w->check->reader->info.strp_size);
	}
	walk_end(w, &c, "bytes after the call sites");
}

static void walk_record(const struct walk *w, struct cursor *c, const struct gsym_func *func);

static void walk_merged(const struct walk *w, struct cursor c, const struct gsym_func *func)
{
	uint32_t count = cursor_u32(&c);
	for (uint32_t i = 0; i < count; i++) {
		struct cursor record = cursor_window(&c, cursor_u32(&c));
		walk_record(w, &record, &func->merged[i]);
		walk_end(w, &record, "bytes after the record of a merged function");
	}
	walk_end(w, &c, "bytes after the merged functions");
}

/* Moves @c to the end of the record. */
static void walk_record(const struct walk *w, struct cursor *c, const struct gsym_func *func)
{
	uint32_t before = InfoType_EndOfList;
	cursor_skip(c, 4 + w->check->reader->info.strp_size);
	if (!*gsym_reader_string(w->check->reader, func->name))
		record_fault(w, c, "empty name");
	while (cursor_ok(c)) {
		uint32_t type = cursor_u32(c), length = cursor_u32(c);
		struct cursor block = cursor_window(c, length);
		if (type == InfoType_EndOfList) {
			if (length)
				record_fault(w, c, "bytes in the end of a record");
			return;
		}
		if (type >= INFO_TYPE_KNOWN)
			record_fault(w, c, "block of an unknown type");
		else if (type < before)
			record_fault(w, c, "block behind one of a higher type");
		before = type;
		switch (type) {
		case InfoType_LineTable: walk_lines(w, block); break;
		case InfoType_InlineInfo: walk_inlines(w, block, func); break;
		case InfoType_MergedFunctionsInfo: walk_merged(w, block, func); break;
		case InfoType_CallSiteInfo: walk_callsites(w, block, func); break;
		}
	}
}

/* Functions with one start are sorted by size, and no two of them have the same. */
static void check_neighbors(struct format_check *c, uint32_t index, const struct gsym_func *func)
{
	if (index && func->start == c->last.start && func->size <= c->last.size)
		fault(c, "function %" PRIu32 ": begins where the one before does, and is not longer", index);
	c->last = *func;
}

static bool passes_the_end(const struct gsym_func *func)
{
	uint64_t most = UINT64_MAX - func->start;
	return func->size > most || (func->n_rows && func->rows[func->n_rows - 1].off > most);
}

static int check_record(struct format_check *c, uint32_t index, struct gsym_decoder *decoder)
{
	struct gsym_func func;
	struct gsym_diag diag = {0};
	struct cursor record = reader_record(c->reader, index);
	uint64_t off = cursor_off(&record);
	int err = gsym_reader_function(c->reader, index, decoder, &func, &diag);
	if (err == -ENOMEM)
		return err;
	if (err) {
		fault(c, "%s", diag.text);
		return 0;
	}
	if (off % RECORD_ALIGN)
		fault(c, "function %" PRIu32 " at offset 0x%" PRIx64 " is not aligned to %d bytes", index,
		      off, RECORD_ALIGN);
	if (passes_the_end(&func))
		fault(c, "function %" PRIu32 " at offset 0x%" PRIx64 " passes the end of the address space",
		      index, off);
	check_neighbors(c, index, &func);
	walk_record(&(struct walk){c, index}, &record, &func);
	struct extent extent = {off, cursor_off(&record)};
	return vec_push(&c->records, extent) ? -ENOMEM : 0;
}

/* Bytes from @end to @off are padding. */
static void check_padding(struct format_check *c, uint64_t end, uint64_t off)
{
	if (off - end >= RECORD_ALIGN || !are_zero(c, end, off))
		fault(c, "bytes at offset 0x%" PRIx64 " that belong to no record", end);
}

/* Records are one behind the other, but for padding, unless functions share one. */
static void check_records(struct format_check *c, const struct table_range *table)
{
	uint64_t end = table->off;
	if (c->records.n < c->reader->info.num_addresses)
		return; /* where one ends is not known */
	if (c->records.n)
		qsort(c->records.v, c->records.n, sizeof(*c->records.v), compare_extents);
	for (size_t i = 0; i < c->records.n && !is_settled(c); i++) {
		const struct extent *at = &c->records.v[i];
		if (i && compare_extents(at, at - 1) == 0)
			continue;
		if (at->off < end)
			fault(c, "record at offset 0x%" PRIx64 ": begins before 0x%" PRIx64, at->off, end);
		else
			check_padding(c, end, at->off);
		end = at->end;
	}
	check_padding(c, end, table->off + table->size);
}

static int check_all(struct format_check *c)
{
	struct gsym_header header;
	check_tables(c, &header);
	check_addresses(c);
	check_files(c);
	struct gsym_decoder *decoder = gsym_decoder_new();
	int err = decoder ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < c->reader->info.num_addresses && !is_settled(c); i++) {
		err = check_record(c, i, decoder);
		if (c->canceled && decoder->bytes / RECORDS_SHARED > c->reader->info.file_size)
			fault(c, "function %" PRIu32 ": records share their bytes: too much to read", i);
	}
	if (!err)
		check_records(c, &header.tables[GlobalInfo_FunctionInfo]);
	gsym_decoder_free(decoder);
	vec_free(&c->records);
	return err;
}

int check_gsym(const struct gsym_reader *reader, const struct check_report *report)
{
	return check_all(&(struct format_check){.reader = reader, .report = report});
}

/* The first fault of a file. */
struct first_fault {
	struct gsym_diag *diag;
	bool is_met;
};

static bool note_first(void *user, const char *text)
{
	struct first_fault *first = user;
	first->is_met = true;
	diag_set(first->diag, -EBADMSG, "%s", text);
	return false;
}

int check_gsym_first(const struct gsym_reader *reader, const atomic_bool *canceled, struct gsym_diag *diag)
{
	struct first_fault first = {.diag = diag};
	struct check_report report = {note_first, &first};
	struct format_check c = {.reader = reader, .report = &report, .canceled = canceled};
	int err = check_all(&c);
	if (err || first.is_met)
		return err ? err : -EBADMSG;
	return is_settled(&c) ? -ECANCELED : 0;
}
