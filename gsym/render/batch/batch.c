/*
 * Queries are taken in blocks, and each step is done for a whole block: which function, which segment of it,
 * the record. So what a step needs is on its way from memory while those before it work, and while the block
 * before it is rendered. Functions are cut into segments (batch_map.h), names and files are kept as they are
 * shown (batch_memory.h): then an answer is two short searches and some copying. Whatever does not fit into
 * this, large or damaged, is looked up by itself.
 */
#include "gsym/render/batch/batch.h"

#include <stdlib.h>

#include "gsym/render/batch/batch_map.h"
#include "gsym/base/put.h"

enum {
	BLOCK = 32,
	SHORT_HALVES = 5,  /* 32 segments */
	ANSWER_SIZE = 128, /* bytes, roughly: no more queries are looked at than it takes for enough */
};

enum how {
	BY_ITSELF, /* one lookup, one answer */
	BY_SEGMENT,
	IS_UNKNOWN,
	IS_DAMAGED,
};

/* A query on its way. */
struct found {
	enum how how;
	size_t n;     /* functions that start before it */
	uint32_t off; /* from the function's start */
	struct function_map *map;
	const uint32_t *at;        /* its segment, among those of the map; NULL: there are none */
	uint32_t left;             /* segments to search, from that one on */
	const map_place *place;    /* of its segment */
	uint32_t file, line, node; /* the same unpacked */
};

struct batch {
	const struct gsym_reader *reader;
	struct gsym_answer answer;
	struct demangle_cache *names; /* of what is answered one by one */
	struct memory memory;
	bool inside; /* a call has begun and not returned: it was left by a jump */
	VEC(struct ready) ready;
	struct text_buf module;
	struct found blocks[2][BLOCK]; /* one that is looked up, one that is answered */
};

/* Queries [at, at + n), looked up. */
struct block {
	size_t at, n;
	struct found *v;
};

/* One call. */
struct run {
	struct batch *batch;
	const struct gsym_reader *reader;
	struct batch_options options;
	const struct batch_query *queries;
	size_t n;
	struct text_buf *out;
	struct gsym_diag *diag;
	bool prepared; /* there is memory for this reader */
	int damaged;
};

struct batch *batch_new(const struct gsym_reader *reader)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	if (batch) {
		batch->reader = batch->memory.reader = reader;
		batch->names = reader ? demangle_cache_new() : NULL; /* NULL is none */
	}
	return batch;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	gsym_answer_deinit(&batch->answer);
	demangle_cache_free(batch->names);
	memory_deinit(&batch->memory);
	vec_free(&batch->ready);
	text_deinit(&batch->module);
	free(batch);
}

size_t batch_memory(const struct batch *batch)
{
	return batch ? sizeof(*batch) + memory_bytes(&batch->memory) + demangle_cache_bytes(batch->names) : 0;
}

/* ---- One by one ---- */

/* What was asked for lies one byte behind what was looked up. */
static void step_back(struct gsym_answer *answer)
{
	for (size_t i = 0; i < answer->n_frames; i++)
		answer->frames[i].offset++;
}

static int answer_address(struct run *run, const struct batch_query *query, struct gsym_diag *diag)
{
	struct gsym_answer *answer = &run->batch->answer;
	if (!run->reader)
		return -ENOENT;
	unsigned flags =
		render_lookup_flags(run->options.render.format) | (run->options.near ? GSYM_LOOKUP_NEAR : 0);
	int err = gsym_lookup_flags(run->reader, query->addr, 0, flags, answer, diag);
	if (err)
		return err;
	if (run->options.is_return)
		step_back(answer);
	return render_answer(run->out, query->given, answer, &run->options.render);
}

/* Notes a damaged record; its answer is an unknown one's. */
static int answer_by_itself(struct run *run, const struct batch_query *query)
{
	struct gsym_diag words;
	const struct render_options *render = &run->options.render;
	int err = -ENOENT;
	if (query->kind == BATCH_MALFORMED)
		return render_malformed(run->out, query->text, query->size, render);
	if (query->kind == BATCH_ADDRESS)
		err = answer_address(run, query, run->damaged ? NULL : &words);
	if (!err || err == -ENOMEM)
		return err;
	if (err != -ENOENT && !run->damaged) {
		run->damaged = -EBADMSG;
		if (run->diag)
			*run->diag = words;
	}
	return render_unknown(run->out, query->given, render);
}

/* ---- By segments ---- */

/* An address before the first function comes out as one behind the last, and is not asked for. */
static void expect_starts(struct run *run, const struct block *block)
{
	const struct memory *m = &run->batch->memory;
	const struct batch_query *queries = run->queries + block->at;
	uint64_t base = run->reader->info.base_address;
	for (size_t i = 0; i < block->n; i++)
		starts_expect(&m->starts, queries[i].addr - base);
	for (size_t i = 0; i < block->n; i++)
		starts_expect_functions(&m->starts, run->reader, queries[i].addr - base);
}

static void find_slots(struct run *run, const struct block *block)
{
	struct memory *m = &run->batch->memory;
	uint64_t base = run->reader->info.base_address;
	for (size_t i = 0; i < block->n; i++) {
		const struct batch_query *query = &run->queries[block->at + i];
		struct found *found = &block->v[i];
		*found = (struct found){.how = BY_ITSELF};
		if (query->kind != BATCH_ADDRESS)
			continue;
		if (query->addr >= base)
			found->n = starts_count(&m->starts, run->reader, query->addr - base);
		found->how = found->n ? BY_SEGMENT : IS_UNKNOWN;
		if (found->n)
			__builtin_prefetch(&m->maps[(found->n - 1) & (m->n_maps - 1)]);
	}
}

/* Has the first @n lines of something brought from memory. */
static void expect_lines(const void *start, size_t n)
{
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch((const char *)start + i * CACHE_LINE);
}

/* Whatever the map is not there for, or cannot tell by itself. */
static void find_slowly(struct run *run, size_t at, struct found *found)
{
	struct memory *m = &run->batch->memory;
	uint64_t off = run->queries[at].addr - run->reader->info.base_address;
	uint32_t index;
	int err = reader_find_behind(run->reader, off, found->n, &index);
	if (err) {
		found->how = err == -ENOENT ? IS_UNKNOWN : BY_ITSELF;
		return;
	}
	uint64_t in = off - reader_addr_off(run->reader, index);
	found->map = in <= UINT32_MAX
			     ? map_get(m, index, (struct map_queries){run->queries + at, run->n - at})
			     : NULL;
	found->off = (uint32_t)in;
	found->how = found->map ? BY_SEGMENT : BY_ITSELF;
}

static void find_maps(struct run *run, const struct block *block)
{
	struct memory *m = &run->batch->memory;
	uint64_t base = run->reader->info.base_address;
	for (size_t i = 0; i < block->n; i++) {
		struct found *found = &block->v[i];
		if (found->how != BY_SEGMENT)
			continue;
		room_ref ref = m->maps[(found->n - 1) & (m->n_maps - 1)];
		if (ref > MAP_NEVER)
			expect_lines(m->room + ref, 2); /* most maps are searched without a look at more */
	}
	for (size_t i = 0; i < block->n; i++) {
		struct found *found = &block->v[i];
		uint64_t off = run->queries[block->at + i].addr - base;
		if (found->how != BY_SEGMENT)
			continue;
		found->map = map_there(m, (uint32_t)(found->n - 1));
		if (found->map && found->map->alone && !found->map->exact &&
		    off - found->map->start < found->map->size)
			found->off = (uint32_t)(off - found->map->start);
		else
			find_slowly(run, block->at + i, found);
		if (found->map)
			__builtin_prefetch(&found->map->offs[found->map->n / 2]);
	}
}

static void halve(struct found *found)
{
	uint32_t half = found->left / 2;
	found->at += found->at[half] <= found->off ? half : 0;
	found->left -= half; /* stays 1 */
}

/*
 * The segments of all queries, halving what is left to search for one after the other, so that each waits for
 * memory while the others are compared. What is short, and therefore there, is halved as often as the longest
 * of it needs: nobody has to guess how often.
 */
static void search_segments(const struct block *block)
{
	bool again = true;
	for (size_t i = 0; i < block->n; i++) {
		struct found *found = &block->v[i];
		found->left = found->how == BY_SEGMENT ? found->map->n : 0;
		found->at = found->left ? found->map->offs : NULL;
	}
	while (again) {
		again = false;
		for (size_t i = 0; i < block->n; i++) {
			struct found *found = &block->v[i];
			if (found->left <= 1 << SHORT_HALVES)
				continue;
			halve(found);
			__builtin_prefetch(&found->at[found->left / 2]);
			again = true;
		}
	}
	for (size_t i = 0; i < block->n; i++)
		for (int k = 0; block->v[i].at && k < SHORT_HALVES; k++)
			halve(&block->v[i]);
}

/* What the segments say is on its way when all of them are found. */
static void find_places(const struct block *block)
{
	search_segments(block);
	for (size_t i = 0; i < block->n; i++) {
		struct found *found = &block->v[i];
		if (found->how != BY_SEGMENT)
			continue;
		if (!found->at)
			found->how = IS_DAMAGED;
		else if (found->map->exact && *found->at != found->off)
			found->how = BY_ITSELF;
		else
			__builtin_prefetch(found->place =
						   &map_places(found->map)[found->at - found->map->offs]);
	}
}

static void look_at_places(const struct run *run, const struct block *block)
{
	for (size_t i = 0; i < block->n; i++) {
		struct found *found = &block->v[i];
		if (found->how != BY_SEGMENT)
			continue;
		found->file = place_file(*found->place);
		found->line = place_line(*found->place);
		found->node = place_node(*found->place);
		if (found->node == PLACE_DAMAGED)
			found->how = IS_DAMAGED;
		else if (run->options.near && found->file && !found->line)
			found->how = BY_ITSELF;
		else
			__builtin_prefetch(&map_nodes(found->map)[found->node]);
	}
}

/*
 * The first byte is read, and not used, so that nothing waits for it: a processor may leave out a prefetch
 * when it does not know where the page is. Measured: it helps here, where a block of texts that lie anywhere
 * comes last, and not in the steps before.
 */
static void expect_text(const struct memory *m, room_ref text)
{
	if (!text)
		return;
	(void)*(const volatile char *)memory_text(m, text);
	expect_lines(memory_text(m, text), 1 + (text & REF_LINES));
}

/* Nodes above the innermost are near it; their names and files are anywhere. */
static void expect_texts(const struct run *run, const struct block *block)
{
	const struct memory *m = &run->batch->memory;
	for (size_t i = 0; i < block->n; i++) {
		const struct found *found = &block->v[i];
		if (found->how != BY_SEGMENT)
			continue;
		const struct map_node *nodes = map_nodes(found->map);
		expect_text(m, memory_path_there(m, found->file));
		for (uint32_t at = found->node; at; at = nodes[at].parent) {
			expect_text(m, nodes[at].text);
			expect_text(m, memory_path_there(m, nodes[at].call_file));
		}
		expect_text(m, nodes[0].text);
	}
}

/* Gives the next frame strings, and a position: 0, -EBADMSG, or -E2BIG when they are not kept. */
static int set_strings(struct run *run, size_t frame, struct map_node *node, uint32_t file)
{
	struct memory *m = &run->batch->memory;
	if (!node->text)
		node->text = memory_name(m, &run->options.render, node->name);
	room_ref path_ref = file ? memory_path_there(m, file) : 0;
	if (file && !path_ref)
		path_ref = memory_path(m, file);
	if (!node->text || (file && !path_ref))
		return -EBADMSG;
	const struct memory_text *name = memory_text(m, node->text), *path = memory_text(m, path_ref);
	if (name->too_long || (file && path->too_long))
		return -E2BIG;
	run->batch->ready.v[frame] = (struct ready){
		.name = text_shown(name),
		.linkage = text_linkage(name),
		.path = file ? text_shown(path) : (struct span){0},
	};
	return 0;
}

static int make_room(struct batch *batch, size_t frames)
{
	struct gsym_answer *answer = &batch->answer;
	if (frames < answer->cap_frames && frames < batch->ready.cap)
		return 0;
	struct gsym_frame *grown = realloc(answer->frames, 2 * (frames + 8) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	answer->frames = grown;
	answer->cap_frames = 2 * (frames + 8);
	return vec_reserve(&batch->ready, 2 * (frames + 8));
}

/* Makes the frames of a segment: 0, -ENOMEM, or what set_strings() says. */
static int make_frames(struct run *run, const struct found *found)
{
	struct gsym_answer *answer = &run->batch->answer;
	uint64_t off = found->off;
	uint32_t file = found->file, line = found->line;
	struct map_node *nodes = map_nodes(found->map);
	size_t n = 0;
	for (uint32_t at = found->node;; at = nodes[at].parent) {
		struct map_node *node = &nodes[at];
		int err = make_room(run->batch, n);
		if (!err)
			err = set_strings(run, n, node, file);
		if (err)
			return err;
		answer->frames[n++] = (struct gsym_frame){
			.offset = off - node->first + run->options.is_return,
			.line = line,
			.inlined = at > 0,
		};
		if (!at)
			break;
		file = node->call_file;
		line = node->call_line;
	}
	answer->n_frames = n;
	answer->n_merged = found->map->n_merged;
	answer->has_rows = found->file || n > 1;
	answer->frames[0].approximate = n == 1 && found->file && line && found->map->made_of_many;
	return 0;
}

static int answer_by_segment(struct run *run, const struct batch_query *query, const struct found *found)
{
	int err = make_frames(run, found);
	if (err)
		return err == -ENOMEM ? err : answer_by_itself(run, query);
	const struct span module = text_span(&run->batch->module);
	return render_shown(run->out, &(struct shown){
					      .addr = query->given,
					      .answer = &run->batch->answer,
					      .ready = run->batch->ready.v,
					      .module = &module,
					      .options = &run->options.render,
				      });
}

static int answer_found(struct run *run, const struct batch_query *query, const struct found *found)
{
	switch (found->how) {
	case BY_SEGMENT: return answer_by_segment(run, query, found);
	case IS_UNKNOWN: return render_unknown(run->out, query->given, &run->options.render);
	case IS_DAMAGED:
		if (run->damaged) /* else there are words to be found */
			return render_unknown(run->out, query->given, &run->options.render);
		break;
	case BY_ITSELF: break;
	}
	return answer_by_itself(run, query);
}

/* ---- All of them ---- */

static void end_record(struct text_buf *out, enum render_format format)
{
	if (format != RENDER_TSV && format != RENDER_JSON)
		text_char(out, '\n');
}

/* Queries to look at together when there is room for @left bytes of answers. */
static size_t block_size(size_t n, size_t left)
{
	size_t worth = left / ANSWER_SIZE + 1;
	n = n < worth ? n : worth;
	return n < BLOCK ? n : BLOCK;
}

static void look_up_block(struct run *run, const struct block *block)
{
	for (size_t i = 0; !run->prepared && i < block->n; i++)
		block->v[i].how = BY_ITSELF;
	if (!run->prepared)
		return;
	expect_starts(run, block);
	find_slots(run, block);
	find_maps(run, block);
	find_places(block);
	look_at_places(run, block);
	expect_texts(run, block);
}

/* Looks up the queries behind @last, of which the answers are still to be made, until there are @enough
 * bytes. */
static struct block look_ahead(struct run *run, const struct block *last, size_t enough)
{
	size_t done = last->at + last->n, there = run->out->n + last->n * ANSWER_SIZE;
	struct block block = {.at = done, .v = run->batch->blocks[last->v == run->batch->blocks[0]]};
	if (last->n &&
	    (there >= enough || run->batch->memory.full)) /* nothing may move before they are made */
		return block;
	if (run->prepared)
		memory_refresh(&run->batch->memory);
	block.n = block_size(run->n - done, enough > there ? enough - there : 0);
	look_up_block(run, &block);
	return block;
}

static bool is_stopped(const struct run *run)
{
	return run->options.stop && run->options.stop(run->options.user);
}

/* Whether the answer to @found may have taken so long that it is worth asking the clock. */
static bool took_long(const struct found *found)
{
	return found->how != BY_SEGMENT && found->how != IS_UNKNOWN;
}

/* Answers a block, or as much of it as is wanted; *ret_more says whether more is. */
static int answer_block(struct run *run, struct block *block, size_t enough, bool *ret_more)
{
	size_t i = 0;
	bool more = true;
	while (more && i < block->n) {
		const struct found *found = &block->v[i];
		int err = answer_found(run, &run->queries[block->at + i++], found);
		end_record(run->out, run->options.render.format);
		if (err || run->out->failed)
			return -ENOMEM;
		more = run->out->n < enough && !(took_long(found) && is_stopped(run));
	}
	block->n = i;
	*ret_more = more && !is_stopped(run);
	return 0;
}

/* While a block is answered, what the next needs comes from memory. */
static int answer_all(struct run *run, size_t enough, size_t *ret_n)
{
	const struct block none = {.v = run->batch->blocks[0]};
	struct block now = look_ahead(run, &none, enough);
	bool more = true;
	while (more) {
		struct block next = look_ahead(run, &now, enough);
		int err = answer_block(run, &now, enough, &more);
		if (err)
			return err;
		*ret_n = now.at + now.n;
		more = more && *ret_n < run->n;
		now = next.n || !more ? next
				      : look_ahead(run, &(struct block){.at = *ret_n, .v = now.v}, enough);
	}
	return run->damaged;
}

int batch_answer(struct batch *batch, const struct batch_options *options, const struct batch_query *queries,
		 size_t n, size_t enough, struct text_buf *out, size_t *ret_n, struct gsym_diag *diag)
{
	struct run run = {
		.batch = batch,
		.reader = batch->reader,
		.options = *options,
		.queries = queries,
		.n = n,
		.out = out,
		.diag = diag,
	};
	if (batch->inside)
		memory_deinit(&batch->memory);
	batch->inside = true;
	run.options.render.cache = batch->names;
	run.prepared = batch->reader && render_takes_ready(options->render.format) &&
		       memory_begin(&batch->memory, &options->render, n);
	text_reset(&batch->module);
	render_module(&batch->module, &options->render, options->render.format == RENDER_TSV ? "-" : "");
	int err = batch->module.failed || !text_reserve(&batch->module, PUT_SLACK)
			  ? -ENOMEM
			  : answer_all(&run, enough, ret_n);
	batch->inside = false;
	return err;
}
