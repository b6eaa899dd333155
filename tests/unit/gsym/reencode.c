/*
 * reencode FILE.gsym: decodes every function of a file that LLVM wrote and encodes it again; every record
 * must come out byte for byte as it was. Then writes the whole file again through the public functions, which
 * must give the same file. With no argument there is nothing to compare with: exit 77, skipped.
 */
#include "gsym/read/reader.h"
#include "gsym/codec/record.h"

#include <inttypes.h>
#include <stdio.h>

/* Where a record ends is known only by reading it: after the end-of-list block. */
static size_t record_size(struct cursor c, unsigned strp_size)
{
	uint64_t from = cursor_off(&c);
	uint32_t type;
	cursor_skip(&c, 4 + strp_size);
	do {
		type = cursor_u32(&c);
		cursor_skip(&c, cursor_u32(&c));
	} while (type && cursor_ok(&c));
	return cursor_off(&c) - from;
}

struct totals {
	uint64_t functions, tables, rows, trees, nodes, bytes;
};

static int reencode(const struct gsym_reader *r, uint32_t index, struct gsym_decoder *decoder,
		    struct buf *out, struct totals *t)
{
	struct gsym_func func;
	struct gsym_diag diag = {""};
	enum info_type part;
	struct cursor c = reader_record(r, index);
	size_t size = record_size(c, r->info.strp_size);
	out->bytes.n = 0;
	if (gsym_reader_function(r, index, decoder, &func, &diag) ||
	    record_encode(out, &func, &r->tables, &part, &diag)) {
		printf("function %" PRIu32 ": %s\n", index, diag.text);
		return 1;
	}
	if (out->bytes.n != size || memcmp(out->bytes.v, c.pos, size)) {
		printf("function %" PRIu32 " at offset 0x%" PRIx64 ": %zu bytes, were %zu\n", index,
		       cursor_off(&c), out->bytes.n, size);
		return 1;
	}
	t->functions++;
	t->tables += func.n_rows > 0;
	t->rows += func.n_rows;
	t->trees += func.n_inlines > 0;
	t->nodes += func.n_inlines;
	t->bytes += size;
	return 0;
}

static int reencode_all(const struct gsym_reader *r)
{
	struct gsym_decoder *decoder = gsym_decoder_new();
	struct buf out = {.big = r->info.big_endian};
	struct totals t = {0};
	uint32_t wrong = 0;
	for (uint32_t i = 0; decoder && i < r->info.num_addresses; i++)
		wrong += (uint32_t)reencode(r, i, decoder, &out, &t);
	printf("%" PRIu64 " functions, %" PRIu64 " line tables with %" PRIu64 " rows, %" PRIu64
	       " inline trees with %" PRIu64 " nodes, %" PRIu64 " bytes identical; %" PRIu32 " different\n",
	       t.functions, t.tables, t.rows, t.trees, t.nodes, t.bytes, wrong);
	buf_free(&out);
	gsym_decoder_free(decoder);
	return !decoder || wrong || t.functions != r->info.num_addresses;
}

/* Strings and files in the order in which they are, so that they get the numbers they had. */
static int copy_tables(const struct gsym_reader *r, struct gsym_writer *w)
{
	const struct gsym_info *info = gsym_reader_info(r);
	uint64_t strp = 0, copied, dir, base;
	uint32_t file;
	while (strp < info->strtab_size) {
		const char *text = gsym_reader_string(r, strp);
		size_t size = strlen(text);
		if (gsym_writer_string(w, text, size, &copied) || copied != strp)
			return -EINVAL;
		strp += size + 1;
	}
	for (uint32_t i = 0; i < info->num_files; i++) {
		if (gsym_reader_file_strings(r, i, &dir, &base) || gsym_writer_file(w, dir, base, &file) ||
		    file != i)
			return -EINVAL;
	}
	return 0;
}

static int copy_functions(const struct gsym_reader *r, struct gsym_writer *w)
{
	struct gsym_decoder *decoder = gsym_decoder_new();
	struct gsym_func func;
	int err = decoder ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < gsym_reader_info(r)->num_addresses; i++) {
		err = gsym_reader_function(r, i, decoder, &func, NULL);
		if (!err)
			err = gsym_writer_add(w, &func, NULL);
	}
	gsym_decoder_free(decoder);
	return err;
}

static int rewrite(const struct gsym_reader *r)
{
	const struct gsym_info *info = gsym_reader_info(r);
	struct gsym_writer *w;
	void *data = NULL;
	size_t size = 0;
	struct gsym_writer_options options = {
		.struct_size = sizeof(options),
		.version = info->version,
		.big_endian = info->big_endian,
		.has_base_address = true,
		.base_address = info->base_address,
		.uuid = info->uuid,
		.uuid_size = info->uuid_size,
	};
	if (gsym_writer_new(&options, &w, NULL))
		return 1;
	int err = copy_tables(r, w);
	if (!err)
		err = copy_functions(r, w);
	if (!err)
		err = gsym_writer_finish_memory(w, &data, &size, NULL);
	bool same = !err && size == r->bytes.size && !memcmp(data, r->bytes.data, size);
	printf("the whole file written again: %s\n", same ? "identical" : "different");
	gsym_writer_free(w);
	free(data);
	return !same;
}

int main(int argc, char **argv)
{
	struct gsym_reader *reader;
	struct gsym_diag diag;
	if (argc != 2) {
		printf("SKIP: reencode needs a GSYM file\n");
		return 77;
	}
	if (gsym_reader_open(argv[1], &reader, &diag)) {
		printf("%s\n", diag.text);
		return 1;
	}
	int ret = reencode_all(reader) | rewrite(reader);
	gsym_reader_close(reader);
	return ret;
}
