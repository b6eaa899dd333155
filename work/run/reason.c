#include "work/run/reason.h"

#include <string.h>

#include "gsym/base/escape.h"
#include "gsym/base/search.h"
#include "gsym/read/reader.h"
#include "work/run/inputs.h"

enum {
	LOOKED_FOR_MAX = 4, /* files that are named */
	NAME_SIZE = 4096,   /* bytes of a stored name; the rest is cut off */
};

/* An address is compared with these. */
struct reasoning {
	const struct gsym_reader *reader;
	const struct handle *handle;
	uint64_t addr;
	uint64_t begin, end; /* of the image */
	struct gsym_answer *answer;
	struct text_buf *out;
};

/* ---- Debug data ---- */

/* Appends the names of the first files that were looked for and are not there. Returns how many such files
 * there are. */
static size_t put_looked_for(struct text_buf *out, struct span inputs)
{
	static const char asked[] = "debuginfod ";
	const char *at = (const char *)inputs.data, *end = at + inputs.size;
	char line[INPUTS_LINE_SIZE];
	size_t n = 0;
	while (at && at < end && (at = inputs_next(at, end, line))) {
		const char *word = strchr(line, ' '), *path = strchr(line, '/');
		bool is_server = word && strncmp(word + 1, asked, strlen(asked)) == 0;
		if ((!path && !is_server) || (line[0] != '-' && !is_server) || n++ >= LOOKED_FOR_MAX)
			continue;
		text_str(out, n == 1 ? " and not found as " : ", ");
		if (is_server)
			text_lit(out, "servers of debuginfod");
		else
			escape_bytes(out, path, strlen(path), ESCAPE_TEXT);
	}
	return n;
}

/* A file without any line was made without debug data. */
static void put_debug_data(struct reasoning *r)
{
	if (gsym_reader_info(r->reader)->num_files > 1)
		return;
	text_lit(r->out, "; no debug data: none in the file");
	size_t n = r->handle ? put_looked_for(r->out, r->handle->inputs) : 0;
	if (n > LOOKED_FOR_MAX) {
		text_lit(r->out, " and ");
		text_dec(r->out, n - LOOKED_FOR_MAX);
		text_lit(r->out, " more");
	}
}

/* ---- Functions ---- */

/* The name is copied, so that nothing is allocated while the mapped file is read. */
static void put_name(struct reasoning *r)
{
	struct text_buf shown = {0};
	char name[NAME_SIZE] = "";
	strncat(name, r->answer->frames[r->answer->n_frames - 1].name, sizeof(name) - 1);
	bool ada = r->handle && handle_demangle(r->handle) == DEMANGLE_ADA;
	demangle_append(&shown, name, ada ? DEMANGLE_ADA : DEMANGLE_AUTO);
	text_char(r->out, '\'');
	escape_bytes(r->out, shown.v ? shown.v : "", shown.n, ESCAPE_TEXT);
	text_char(r->out, '\'');
	text_deinit(&shown);
}

/* Appends " WORD 'NAME' (ADDRESS)". */
static void put_neighbour(struct reasoning *r, const char *word, uint32_t index, uint64_t at)
{
	text_str(r->out, word);
	if (!gsym_lookup_flags(r->reader, gsym_reader_address(r->reader, index), 0, 0, r->answer, NULL) &&
	    r->answer->n_frames)
		put_name(r);
	else
		text_lit(r->out, "a function");
	text_lit(r->out, " (0x");
	text_hex(r->out, at, 1);
	text_char(r->out, ')');
}

static void put_gap(struct reasoning *r)
{
	uint32_t n = gsym_reader_info(r->reader)->num_addresses;
	uint32_t after = (uint32_t)PARTITION_POINT(0, n, i, gsym_reader_address(r->reader, i) <= r->addr);
	text_lit(r->out, "outside all functions");
	if (after)
		put_neighbour(r, ": after the end of ", after - 1,
			      gsym_reader_address(r->reader, after - 1) +
				      reader_func_size(r->reader, after - 1));
	if (after < n)
		put_neighbour(r, after ? " and before " : ": before ", after,
			      gsym_reader_address(r->reader, after));
}

/* ---- The image ---- */

/* The segments, or where those are not known, the functions. */
static void find_extent(struct reasoning *r)
{
	const struct address_map *map = r->handle ? &r->handle->addresses : NULL;
	uint32_t n = gsym_reader_info(r->reader)->num_addresses;
	r->begin = n ? gsym_reader_address(r->reader, 0) : 0;
	r->end = reader_code_end(r->reader);
	for (size_t i = 0; map && i < map->n; i++) {
		uint64_t begin = map->segments[i].addr, end = begin + map->segments[i].size;
		r->begin = begin < r->begin ? begin : r->begin;
		r->end = end > begin && end > r->end ? end : r->end;
	}
}

static void put_extent(struct reasoning *r)
{
	bool knows_segments = r->handle && r->handle->addresses.n;
	text_str(r->out,
		 knows_segments ? " the image, which is linked to 0x" : " all functions, which are at 0x");
	text_hex(r->out, r->begin, 1);
	text_lit(r->out, "-0x");
	text_hex(r->out, r->end, 1);
}

static enum reason find_reason(struct reasoning *r)
{
	int err = gsym_lookup_flags(r->reader, r->addr, 0, 0, r->answer, NULL);
	if (!err && r->answer->n_frames) {
		bool has_file = r->answer->frames[0].base && *r->answer->frames[0].base;
		text_lit(r->out, "in ");
		put_name(r);
		if (has_file)
			return REASON_NONE;
		text_lit(r->out, ", of which no line is known");
		put_debug_data(r);
		return REASON_NO_LINE;
	}
	if (r->addr < r->begin) {
		text_lit(r->out, "before");
		put_extent(r);
		text_lit(r->out, "; if it is counted from the start of that, ask rva/ADDRESS of a mount");
		return REASON_BEFORE;
	}
	if (r->addr >= r->end) {
		text_lit(r->out, "after");
		put_extent(r);
		text_lit(r->out, "; it looks like a runtime address: subtract the address at which the image "
				 "was loaded, or ask base/LOAD/ADDRESS of a mount");
		return REASON_AFTER;
	}
	put_gap(r);
	put_debug_data(r);
	return REASON_BETWEEN;
}

enum reason reason_append(struct text_buf *out, const struct gsym_reader *reader, const struct handle *handle,
			  uint64_t addr, struct gsym_answer *answer)
{
	struct reasoning r = {.reader = reader, .handle = handle, .addr = addr, .answer = answer, .out = out};
	find_extent(&r);
	return find_reason(&r);
}
