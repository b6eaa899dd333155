#include "gsym/write/copier.h"

#include "gsym/base/diag.h"
#include "gsym/codec/decoder.h"

#include <inttypes.h>
#include <string.h>

enum {
	/* Overlapping strings, which no producer emits, take more bytes when copied; this is the limit. */
	STRINGS_GROWTH = 4,
	STRINGS_LEAST = 64 * 1024,
	/* Bytes of records decoded, in sizes of the file: many addresses may share a large record. */
	RECORDS_SHARED = 16,
};

int copier_init(struct copier *c, const struct gsym_reader *from)
{
	*c = (struct copier){.from = from};
	c->decoder = gsym_decoder_new();
	c->files = calloc((size_t)gsym_reader_info(from)->num_files + 1, sizeof(*c->files));
	return c->decoder && c->files ? 0 : -ENOMEM;
}

void copier_deinit(struct copier *c)
{
	gsym_decoder_free(c->decoder);
	string_map_deinit(&c->strings);
	free(c->files);
	vec_free(&c->rows);
	vec_free(&c->inlines);
	vec_free(&c->patterns);
	vec_free(&c->merged);
}

struct gsym_writer_options copier_options(const struct gsym_reader *from)
{
	const struct gsym_info *info = gsym_reader_info(from);
	return (struct gsym_writer_options){
		.struct_size = sizeof(struct gsym_writer_options),
		.version = info->version,
		.big_endian = info->big_endian,
		.has_base_address = true,
		.base_address = info->base_address,
		.uuid = info->uuid,
		.uuid_size = info->uuid_size,
	};
}

int copier_begin(struct copier *c, struct gsym_writer *to)
{
	c->to = to;
	c->string_bytes = 0;
	c->decoder->bytes = 0;
	if (++c->run == 0) {
		memset(c->files, 0, (size_t)gsym_reader_info(c->from)->num_files * sizeof(*c->files));
		c->run = 1;
	}
	return string_map_clear(&c->strings);
}

static int add_string(struct copier *c, uint64_t from, uint64_t *ret, struct gsym_diag *diag)
{
	uint64_t limit = STRINGS_GROWTH * gsym_reader_info(c->from)->strtab_size + STRINGS_LEAST;
	const char *text = gsym_reader_string(c->from, from);
	if (!text)
		return diag_set(diag, -EBADMSG, "string 0x%" PRIx64 " is past the string table", from);
	uint64_t left = limit - c->string_bytes;
	size_t size = strnlen(text, left < SIZE_MAX ? (size_t)left : SIZE_MAX); /* 32 bits hold less */
	if (size == left)
		return diag_set(diag, -EDQUOT,
				"string table: its strings overlap and would take more than 0x%" PRIx64
				" bytes",
				limit);
	c->string_bytes += size + 1;
	int err = gsym_writer_string(c->to, text, size, ret);
	if (!err)
		err = string_map_add(&c->strings, from, *ret);
	return err ? diag_set(diag, err, "string table: %s", strerror(-err)) : 0;
}

static int copy_string(struct copier *c, uint64_t from, uint64_t *ret, struct gsym_diag *diag)
{
	*ret = 0; /* offset 0 is the empty string in every table */
	return !from || string_map_find(&c->strings, from, ret) ? 0 : add_string(c, from, ret, diag);
}

static int add_file(struct copier *c, uint32_t from, uint32_t *ret, struct gsym_diag *diag)
{
	uint64_t dir, base;
	int err = gsym_reader_file_strings(c->from, from, &dir, &base);
	if (err)
		return diag_set(diag, err, "file table: no entry %" PRIu32, from);
	err = copy_string(c, dir, &dir, diag);
	if (!err)
		err = copy_string(c, base, &base, diag);
	if (err)
		return diag_prefix(diag, err, "file table: entry %" PRIu32, from);
	err = gsym_writer_file(c->to, dir, base, ret);
	if (err)
		return diag_set(diag, err, "file table: entry %" PRIu32 ": %s", from, strerror(-err));
	c->files[from] = (struct copied_file){c->run, *ret};
	return 0;
}

static int copy_file(struct copier *c, uint32_t from, uint32_t *ret, struct gsym_diag *diag)
{
	*ret = 0;
	if (!from)
		return 0;
	if (c->files[from].run != c->run)
		return add_file(c, from, ret, diag);
	*ret = c->files[from].index;
	return 0;
}

int copy_tables(struct copier *c, struct gsym_diag *diag)
{
	const struct gsym_info *info = gsym_reader_info(c->from);
	uint64_t strp = 0, copied;
	uint32_t file;
	int err = 0;
	while (!err && strp < info->strtab_size) {
		size_t size = strlen(gsym_reader_string(c->from, strp));
		if (size)
			err = copy_string(c, strp, &copied, diag);
		strp += size + 1;
	}
	for (uint32_t i = 1; i < info->num_files && (!err || err == -EBADMSG); i++) {
		int file_err = copy_file(c, i, &file, err ? NULL : diag);
		err = file_err ? file_err : err;
	}
	return err;
}

/* Whether a part that failed with *@err is left out, as the decoder leaves out damaged ones: it is 0 then. */
static bool leave_out(struct copier *c, int *err)
{
	if ((*err != -EBADMSG && *err != -EDQUOT) || !c->decoder->salvages)
		return false;
	c->decoder->n_lost++;
	*err = 0;
	return true;
}

static int translate_rows(struct copier *c, const struct gsym_func *in, struct gsym_func *out,
			  struct gsym_diag *diag)
{
	int err = 0;
	out->rows = c->rows.v + c->rows.n;
	for (size_t i = 0; !err && i < in->n_rows; i++) {
		struct gsym_row *row = &c->rows.v[c->rows.n++];
		*row = in->rows[i];
		err = copy_file(c, row->file, &row->file, diag);
	}
	if (leave_out(c, &err))
		out->n_rows = 0;
	return err;
}

static int translate_inlines(struct copier *c, const struct gsym_func *in, struct gsym_func *out,
			     struct gsym_diag *diag)
{
	int err = 0;
	out->inlines = c->inlines.v + c->inlines.n;
	for (size_t i = 0; !err && i < in->n_inlines; i++) {
		struct gsym_inline *node = &c->inlines.v[c->inlines.n++];
		*node = in->inlines[i];
		err = copy_string(c, node->name, &node->name, diag);
		if (!err)
			err = copy_file(c, node->call_file, &node->call_file, diag);
	}
	if (leave_out(c, &err))
		out->n_inlines = out->n_ranges = 0;
	return err;
}

/* Name, lines and inlined calls of @in. The vectors are reserved: pointers into them stay valid. */
static int translate_code(struct copier *c, const struct gsym_func *in, struct gsym_func *out,
			  struct gsym_diag *diag)
{
	int err = copy_string(c, in->name, &out->name, diag);
	if (!err)
		err = translate_rows(c, in, out, diag);
	return err ? err : translate_inlines(c, in, out, diag);
}

/* The callees of call sites; the sites themselves need no translation. */
static int translate_patterns(struct copier *c, const struct gsym_func *in, struct gsym_func *out,
			      struct gsym_diag *diag)
{
	int err = 0;
	out->patterns = c->patterns.v + c->patterns.n;
	for (size_t i = 0; !err && i < in->n_patterns; i++)
		err = copy_string(c, in->patterns[i], &c->patterns.v[c->patterns.n++], diag);
	if (leave_out(c, &err))
		out->n_callsites = out->n_patterns = 0;
	return err;
}

static int translate_merged(struct copier *c, const struct gsym_func *in, struct gsym_func *out,
			    struct gsym_diag *diag)
{
	int err = 0;
	out->merged = c->merged.v;
	for (size_t i = 0; !err && i < in->n_merged; i++) {
		struct gsym_func *merged = &c->merged.v[c->merged.n++];
		*merged = in->merged[i];
		err = translate_code(c, &in->merged[i], merged, diag);
		if (!err)
			err = translate_patterns(c, &in->merged[i], merged, diag);
		if (leave_out(c, &err))
			c->merged.n--;
	}
	out->n_merged = c->merged.n;
	return err;
}

/* Empties the vectors and reserves them for all of @in and one more, so that none of them is NULL. */
static int make_room(struct copier *c, const struct gsym_func *in)
{
	size_t rows = in->n_rows + 1, inlines = in->n_inlines + 1, patterns = in->n_patterns + 1;
	for (size_t i = 0; i < in->n_merged; i++) {
		rows += in->merged[i].n_rows;
		inlines += in->merged[i].n_inlines;
		patterns += in->merged[i].n_patterns;
	}
	c->rows.n = c->inlines.n = c->patterns.n = c->merged.n = 0;
	return vec_reserve(&c->rows, rows) || vec_reserve(&c->inlines, inlines) ||
			       vec_reserve(&c->patterns, patterns) ||
			       vec_reserve(&c->merged, in->n_merged + 1)
		       ? -ENOMEM
		       : 0;
}

/* In the order of the blocks of a record. */
static int translate(struct copier *c, const struct gsym_func *in, struct gsym_func *out,
		     struct gsym_diag *diag)
{
	*out = *in;
	if (make_room(c, in))
		return diag_set(diag, -ENOMEM, "no memory");
	int err = translate_code(c, in, out, diag);
	if (!err)
		err = translate_merged(c, in, out, diag);
	return err ? err : translate_patterns(c, in, out, diag);
}

int copy_function(struct copier *c, uint32_t index, struct gsym_func *ret, struct gsym_diag *diag)
{
	struct gsym_func copy;
	if (c->decoder->bytes / RECORDS_SHARED > gsym_reader_info(c->from)->file_size)
		return diag_set(diag, -EBADMSG,
				"function %" PRIu32 ": records share their bytes: too much to read", index);
	int err = gsym_reader_function(c->from, index, c->decoder, ret, diag);
	if (err)
		return err;
	err = translate(c, ret, &copy, diag);
	if (err)
		return diag_prefix(diag, err, "function at 0x%" PRIx64, ret->start);
	return gsym_writer_add(c->to, &copy, diag);
}
