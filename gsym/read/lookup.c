/*
 * From an address to frames.
 *
 * The line table gives the position of the address; each inlined call on the path down to it gives the
 * position of its caller. So frames are collected from the function inwards: each gets as its position
 * where the next one was called, the last gets that of the line table, and then the order is reversed.
 * Nothing is decoded that the answer does not need, and nothing is allocated except space for frames.
 */
#include "gsym/read/lookup.h"

#include "gsym/base/diag.h"
#include "gsym/codec/inline.h"
#include "gsym/codec/linetab.h"
#include "gsym/codec/record.h"
#include "gsym/read/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	FRAMES_MIN = 8,
	NEAR_ROWS_MAX = 64, /* looked at for a line nearby */
	FLAGS_KNOWN = GSYM_LOOKUP_NEAR | GSYM_LOOKUP_FIRST_ROW,
};

void gsym_answer_deinit(struct gsym_answer *answer)
{
	free(answer->frames);
	*answer = (struct gsym_answer){0};
}

/* State of a lookup. */
struct address_lookup {
	const struct gsym_reader *reader;
	struct function_info record;
	uint64_t off;   /* the address, from the function's start */
	unsigned flags; /* enum gsym_lookup_flags */
	struct gsym_answer *answer;
};

static struct gsym_frame *push_frame(struct gsym_answer *a)
{
	if (a->n_frames == a->cap_frames) {
		size_t cap = a->cap_frames ? 2 * a->cap_frames : FRAMES_MIN;
		struct gsym_frame *grown = realloc(a->frames, cap * sizeof(*grown));
		if (!grown)
			return NULL;
		a->frames = grown;
		a->cap_frames = cap;
	}
	return &a->frames[a->n_frames++];
}

/* A frame without a position yet. */
static int add_frame(struct address_lookup *l, uint64_t name, uint64_t offset, struct gsym_diag *diag)
{
	const char *text = gsym_reader_string(l->reader, name);
	if (!text)
		return diag_set(diag, -EBADMSG, "inline info: name 0x%" PRIx64 " past the string table",
				name);
	struct gsym_frame *frame = push_frame(l->answer);
	if (!frame)
		return diag_set(diag, -ENOMEM, "no memory for frames");
	*frame = (struct gsym_frame){.name = text, .dir = "", .base = "", .offset = offset};
	return 0;
}

/* Sets the position of the frame added last. File 0 is none. */
static int set_position(struct address_lookup *l, uint64_t file, uint32_t line, struct gsym_diag *diag)
{
	struct gsym_frame *frame = &l->answer->frames[l->answer->n_frames - 1];
	frame->line = line;
	if (!file)
		return 0;
	if (tables_have_file(&l->reader->tables, file) &&
	    !gsym_reader_file(l->reader, (uint32_t)file, &frame->dir, &frame->base))
		return 0;
	return diag_set(diag, -EBADMSG,
			"file table: entry %" PRIu64 " is missing or its strings lie past the string table",
			file);
}

static int add_inlined(struct address_lookup *l, struct gsym_diag *diag)
{
	struct inline_walk walk;
	struct inline_node node;
	int err = inline_walk_init(&walk, l->record.blocks[InfoType_InlineInfo], &l->reader->tables, l->off,
				   diag);
	while (!err && (err = inline_walk_next(&walk, &node, diag)) > 0) {
		err = set_position(l, node.call_file, node.call_line, diag);
		if (!err)
			err = add_frame(l, node.name, l->off - node.first, diag);
	}
	return err;
}

/* The row in effect at the address: 0, or -ENOENT when there is none or it has no file. */
static int find_row(const struct address_lookup *l, struct gsym_row *ret, struct gsym_diag *diag)
{
	if (!record_has(&l->record, InfoType_LineTable))
		return -ENOENT;
	struct cursor table = l->record.blocks[InfoType_LineTable];
	int err = l->flags & GSYM_LOOKUP_FIRST_ROW ? linetab_lookup_first(table, l->off, ret, diag)
						   : linetab_lookup(table, l->off, ret, diag);
	return err ? err : ret->file ? 0 : -ENOENT;
}

/* The inlined call an offset lies in. */
struct innermost {
	struct inline_node node;
	unsigned depth; /* 0: the function itself */
};

static int find_innermost(const struct address_lookup *l, uint64_t off, struct innermost *ret,
			  struct gsym_diag *diag)
{
	struct inline_walk walk;
	*ret = (struct innermost){.depth = 0};
	if (!record_has(&l->record, InfoType_InlineInfo))
		return 0;
	int err =
		inline_walk_init(&walk, l->record.blocks[InfoType_InlineInfo], &l->reader->tables, off, diag);
	while (!err && (err = inline_walk_next(&walk, &ret->node, diag)) > 0) {
		ret->depth++;
		err = 0;
	}
	return err;
}

static bool is_same_call(const struct innermost *a, const struct innermost *b)
{
	const struct inline_node *x = &a->node, *y = &b->node;
	return a->depth == b->depth &&
	       (!a->depth || (x->first == y->first && x->name == y->name && x->call_file == y->call_file &&
			      x->call_line == y->call_line));
}

/* The nearest row before the address that has a line and belongs to the same function, inlined or not. */
static int find_near_row(const struct address_lookup *l, struct gsym_row *ret, struct gsym_diag *diag)
{
	struct gsym_row rows[NEAR_ROWS_MAX];
	struct innermost here, there;
	size_t n = 0;
	int err = linetab_before(l->record.blocks[InfoType_LineTable], l->off, rows, NEAR_ROWS_MAX, &n, diag);
	if (!err)
		err = find_innermost(l, l->off, &here, diag);
	while (!err && n-- > 0) {
		err = find_innermost(l, rows[n].off, &there, diag);
		if (err || !rows[n].line || !rows[n].file || !is_same_call(&here, &there))
			continue;
		*ret = rows[n];
		return 0;
	}
	return err ? err : -ENOENT;
}

bool lookup_is_made_of_many(const char *name)
{
	static const char prefix[] = "OUTLINED_FUNCTION_";
	return strncmp(name + (*name == '_'), prefix, sizeof(prefix) - 1) == 0;
}

/* Gives the innermost frame, which was added last, the position of the address. */
static int set_own_position(struct address_lookup *l, struct gsym_row row, struct gsym_diag *diag)
{
	struct gsym_row near;
	struct gsym_frame *frame = &l->answer->frames[l->answer->n_frames - 1];
	frame->approximate = row.line && l->answer->n_frames == 1 && lookup_is_made_of_many(frame->name);
	if (l->flags & GSYM_LOOKUP_NEAR && !row.line) {
		int err = find_near_row(l, &near, diag);
		if (err && err != -ENOENT)
			return err;
		frame->approximate = !err;
		row = err ? row : near;
	}
	return set_position(l, row.file, row.line, diag);
}

static int make_frames(struct address_lookup *l, struct gsym_diag *diag)
{
	struct gsym_row row;
	int err = add_frame(l, l->record.name, l->off, diag);
	if (err)
		return err;
	int no_row = find_row(l, &row, diag);
	if (no_row && no_row != -ENOENT)
		return no_row;
	if (record_has(&l->record, InfoType_InlineInfo))
		err = add_inlined(l, diag);
	if (!err &&
	    !no_row) /* else the innermost frame has no position; those it was inlined into still have */
		err = set_own_position(l, row, diag);
	l->answer->has_rows = !no_row || l->answer->n_frames > 1;
	if (!err) {
		/* Innermost first, as the answer wants them. */
		for (size_t i = 0, k = l->answer->n_frames - 1; i < k; i++, k--) {
			struct gsym_frame frame = l->answer->frames[i];
			l->answer->frames[i] = l->answer->frames[k];
			l->answer->frames[k] = frame;
		}
		for (size_t i = 0; i + 1 < l->answer->n_frames; i++)
			l->answer->frames[i].inlined = true;
	}
	return err;
}

static int open_record(struct address_lookup *l, uint64_t addr, uint32_t index, struct gsym_diag *diag)
{
	struct gsym_answer *a = l->answer;
	int err = reader_parse_record(l->reader, index, &l->record, diag);
	if (err)
		return err;
	a->func_index = index;
	a->func_start = gsym_reader_address(l->reader, index);
	a->func_size = l->record.size;
	l->off = addr - a->func_start;
	return 0;
}

int lookup_count_merged(const struct function_info *record, struct cursor *ret_merged, uint32_t *ret,
			struct gsym_diag *diag)
{
	uint32_t count = 0;
	int err = 0;
	*ret_merged = record->blocks[InfoType_MergedFunctionsInfo];
	if (record_has(record, InfoType_MergedFunctionsInfo))
		err = merged_count(ret_merged, &count, diag);
	*ret = count < UINT32_MAX ? count + 1 : count;
	return err;
}

static int count_merged(struct address_lookup *l, struct cursor *ret_merged, struct gsym_diag *diag)
{
	return lookup_count_merged(&l->record, ret_merged, &l->answer->n_merged, diag);
}

/* Replaces the record by the next of those folded onto it. */
static int next_merged(struct address_lookup *l, struct cursor *merged, struct gsym_diag *diag)
{
	struct cursor c;
	int err = merged_next(merged, &c, diag);
	if (!err)
		err = record_parse(c, &l->reader->tables, &l->record, diag);
	if (!err && l->record.size != l->answer->func_size)
		err = diag_set(diag, -EBADMSG,
			       "merged function record at offset 0x%" PRIx64
			       ": its size is not that of its holder",
			       l->record.off);
	return err;
}

/* Replaces the record by number @which of those folded onto it; 0 is the record itself. */
static int select_merged(struct address_lookup *l, struct cursor *merged, uint32_t which,
			 struct gsym_diag *diag)
{
	struct cursor passed;
	int err = 0;
	if (which >= l->answer->n_merged)
		return diag_set(diag, -ENOENT, "no function %" PRIu32 ": %" PRIu32 " are merged here", which,
				l->answer->n_merged);
	for (uint32_t i = 1; !err && i < which; i++)
		err = merged_next(merged, &passed, diag);
	return err || !which ? err : next_merged(l, merged, diag);
}

static int in_record(const struct address_lookup *l, int err, struct gsym_diag *diag)
{
	return err ? diag_prefix(diag, err, "function record at offset 0x%" PRIx64, l->record.off) : 0;
}

static int lookup_record(struct address_lookup *l, uint64_t addr, uint32_t index, uint32_t which,
			 struct gsym_diag *diag)
{
	struct cursor merged;
	int err = open_record(l, addr, index, diag);
	if (err)
		return err;
	err = count_merged(l, &merged, diag);
	if (!err)
		err = select_merged(l, &merged, which, diag);
	if (!err)
		err = make_frames(l, diag);
	return in_record(l, err, diag);
}

/* An answer that failed has no frames. */
static int conclude(const struct address_lookup *l, int err, uint32_t index, struct gsym_diag *diag)
{
	if (!err)
		return 0;
	l->answer->n_frames = 0;
	return diag_prefix(diag, err, "%s: function %" PRIu32, l->reader->name, index);
}

int gsym_lookup_flags(const struct gsym_reader *reader, uint64_t addr, uint32_t which, unsigned flags,
		      struct gsym_answer *answer, struct gsym_diag *diag)
{
	struct address_lookup l = {.reader = reader, .flags = flags, .answer = answer};
	if (flags & ~FLAGS_KNOWN) {
		answer->n_frames = 0;
		return diag_set(diag, -EINVAL, "lookup with unknown flags 0x%x", flags & ~FLAGS_KNOWN);
	}
	uint32_t index;
	l.answer->n_frames = 0;
	int err = gsym_reader_find(l.reader, addr, &index, diag);
	return err ? err : conclude(&l, lookup_record(&l, addr, index, which, diag), index, diag);
}

int gsym_lookup_merged(const struct gsym_reader *reader, uint64_t addr, uint32_t which,
		       struct gsym_answer *answer, struct gsym_diag *diag)
{
	return gsym_lookup_flags(reader, addr, which, 0, answer, diag);
}

int gsym_lookup_near(const struct gsym_reader *reader, uint64_t addr, struct gsym_answer *answer,
		     struct gsym_diag *diag)
{
	return gsym_lookup_flags(reader, addr, 0, GSYM_LOOKUP_NEAR, answer, diag);
}

/* Makes the answer of each function that shares the code. */
static int each_record(struct address_lookup *l, uint64_t addr, uint32_t index, lookup_each *each, void *user,
		       struct gsym_diag *diag)
{
	struct cursor merged;
	int err = open_record(l, addr, index, diag);
	if (err)
		return err;
	err = count_merged(l, &merged, diag);
	for (uint32_t i = 0; !err && i < l->answer->n_merged; i++) {
		l->answer->n_frames = 0;
		if (i > 0)
			err = next_merged(l, &merged, diag);
		if (!err)
			err = make_frames(l, diag);
		if (!err)
			err = each(user, &l->record, diag);
	}
	return in_record(l, err, diag);
}

int lookup_each_merged(const struct gsym_reader *reader, uint64_t addr, unsigned flags,
		       struct gsym_answer *answer, lookup_each *each, void *user, struct gsym_diag *diag)
{
	struct address_lookup l = {.reader = reader, .flags = flags, .answer = answer};
	uint32_t index;
	answer->n_frames = 0;
	int err = gsym_reader_find(reader, addr, &index, diag);
	return err ? err : conclude(&l, each_record(&l, addr, index, each, user, diag), index, diag);
}

int gsym_lookup(const struct gsym_reader *reader, uint64_t addr, struct gsym_answer *answer,
		struct gsym_diag *diag)
{
	return gsym_lookup_merged(reader, addr, 0, answer, diag);
}
