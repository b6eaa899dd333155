/*
 * Queries are taken in blocks, and each step is done for a whole block: which function, which segment of it, the record. So what a step needs
 * is on its way from memory while those before it work. Functions are cut into segments (batch_map.h), names and
 * files are kept as they are shown (batch_memory.h): then an answer is two short searches and some copying. Whatever does not fit into
 * this, large or damaged, is looked up by itself.
 */
#include "batch.h"

#include <stdlib.h>

#include "batch_map.h"

enum {
	BLOCK = 32,
	CACHE_LINE = 64,
	ANSWER_SIZE = 128, /* bytes, roughly: no more queries are looked at than it takes for enough */
};

enum how {
	BY_ITSELF,   /* one lookup, one answer */
	BY_SEGMENT,
	IS_UNKNOWN,
	IS_DAMAGED,
};

/* A query on its way. */
struct found {
	enum how how;
	size_t n;  /* functions that start before it */
	uint32_t off; /* from the function's start */
	struct function_map *map;
	const struct segment *segment;
	size_t left; /* segments to search, from that one on */
};

struct batch {
	const struct gsym_reader *reader;
	struct gsym_answer answer;
	struct demangle_cache *names; /* of what is answered one by one */
	struct memory memory;
	bool inside; /* a call has begun and not returned: it was left by a jump */
	VEC(struct ready) ready;
	struct text_buf module;
	struct found block[BLOCK];
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
	unsigned flags = render_lookup_flags(run->options.render.format) | (run->options.near ? GSYM_LOOKUP_NEAR : 0);
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

static void find_slots(struct run *run, size_t at, size_t n)
{
	struct memory *m = &run->batch->memory;
	uint64_t base = run->reader->info.base_address;
	for (size_t i = 0; i < n; i++) {
		const struct batch_query *query = &run->queries[at + i];
		struct found *found = &run->batch->block[i];
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
	found->map = in <= UINT32_MAX ?
			     map_get(m, index, (struct map_queries){run->queries + at, run->n - at}) :
			     NULL;
	found->off = (uint32_t)in;
	found->how = found->map ? BY_SEGMENT : BY_ITSELF;
}

static void find_maps(struct run *run, size_t at, size_t n)
{
	struct memory *m = &run->batch->memory;
	uint64_t base = run->reader->info.base_address;
	for (size_t i = 0; i < n; i++) {
		struct found *found = &run->batch->block[i];
		if (found->how != BY_SEGMENT)
			continue;
		found->map = map_there(m, (uint32_t)(found->n - 1));
		if (found->map)
			__builtin_prefetch(found->map);
	}
	for (size_t i = 0; i < n; i++) {
		struct found *found = &run->batch->block[i];
		uint64_t off = run->queries[at + i].addr - base;
		if (found->how != BY_SEGMENT)
			continue;
		if (found->map && found->map->alone && !found->map->exact && off - found->map->start < found->map->size)
			found->off = (uint32_t)(off - found->map->start);
		else
			find_slowly(run, at + i, found);
		if (found->map)
			__builtin_prefetch(&found->map->segments[found->map->n / 2]);
	}
}

/*
 * The segments of all queries, halving what is left to search for one after the other, so that each waits for memory while the others
 * are compared.
 */
static void search_segments(struct found *block, size_t n)
{
	bool again = true;
	for (size_t i = 0; i < n; i++) {
		block[i].left = block[i].how == BY_SEGMENT ? block[i].map->n : 0;
		block[i].segment = block[i].left ? block[i].map->segments : NULL;
	}
	while (again) {
		again = false;
		for (size_t i = 0; i < n; i++) {
			struct found *found = &block[i];
			if (found->left < 2)
				continue;
			size_t half = found->left / 2;
			found->segment += found->segment[half].off <= found->off ? half : 0;
			found->left -= half;
			__builtin_prefetch(&found->segment[found->left / 2]);
			again |= found->left > 1;
		}
	}
}

static void find_segments(struct run *run, size_t n)
{
	search_segments(run->batch->block, n);
	for (size_t i = 0; i < n; i++) {
		struct found *found = &run->batch->block[i];
		const struct segment *segment = found->segment;
		if (found->how != BY_SEGMENT)
			continue;
		if (!segment)
			found->how = IS_DAMAGED;
		else if (found->map->exact && segment->off != found->off)
			found->how = BY_ITSELF;
		else if (segment->node == SEGMENT_DAMAGED)
			found->how = IS_DAMAGED;
		else if (run->options.near && segment->file && !segment->line)
			found->how = BY_ITSELF;
		else
			__builtin_prefetch(&found->map->nodes[segment->node]);
	}
}

static void expect_text(const struct memory_text *text)
{
	if (!text)
		return;
	__builtin_prefetch(text);
	__builtin_prefetch((const char *)text + CACHE_LINE);
}

/* Nodes above the innermost are near it; their names are anywhere. */
static void expect_names(struct run *run, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct found *found = &run->batch->block[i];
		if (found->how != BY_SEGMENT)
			continue;
		uint32_t at = found->segment->node;
		for (; at; at = found->map->nodes[at].parent)
			expect_text(found->map->nodes[at].text);
		expect_text(found->map->nodes[0].text);
	}
}

/* The text of a node's name. What it points at stays as long as the node. */
static const struct memory_text *name_of(struct run *run, struct map_node *node)
{
	if (!node->text)
		node->text = memory_name(&run->batch->memory, &run->options.render, node->name);
	return node->text;
}

/* Gives the next frame strings, and a position: 0, -EBADMSG, or -E2BIG when they are not kept. */
static int set_strings(struct run *run, size_t frame, struct map_node *node, uint32_t file)
{
	const struct memory_text *name = name_of(run, node);
	const struct memory_text *path = file ? memory_path(&run->batch->memory, file) : NULL;
	if (!name || (file && !path))
		return -EBADMSG;
	if (name->too_long || (path && path->too_long))
		return -E2BIG;
	run->batch->ready.v[frame] = (struct ready){.name = name->shown, .linkage = name->linkage};
	if (path)
		run->batch->ready.v[frame].path = path->shown;
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
	uint32_t file = found->segment->file, line = found->segment->line;
	size_t n = 0;
	for (uint32_t at = found->segment->node;; at = found->map->nodes[at].parent) {
		struct map_node *node = &found->map->nodes[at];
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
	answer->has_rows = found->segment->file || n > 1;
	answer->frames[0].approximate = n == 1 && found->segment->file && line && found->map->made_of_many;
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

static void look_up_block(struct run *run, size_t at, size_t n)
{
	if (run->prepared) {
		memory_refresh(&run->batch->memory);
		find_slots(run, at, n);
		find_maps(run, at, n);
		find_segments(run, n);
		expect_names(run, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		run->batch->block[i].how = BY_ITSELF;
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

static int answer_all(struct run *run, size_t enough, size_t *ret_n)
{
	const struct found *block = run->batch->block;
	size_t done = 0;
	bool stopped = false;
	do {
		size_t n = block_size(run->n - done, enough > run->out->n ? enough - run->out->n : 0), i = 0;
		look_up_block(run, done, n);
		do {
			int err = answer_found(run, &run->queries[done + i], &block[i]);
			end_record(run->out, run->options.render.format);
			if (err || run->out->failed)
				return -ENOMEM;
			stopped = took_long(&block[i]) && is_stopped(run);
		} while (++i < n && run->out->n < enough && !stopped);
		done += i;
	} while (done < run->n && run->out->n < enough && !stopped && !is_stopped(run));
	*ret_n = done;
	return run->damaged;
}

int batch_answer(struct batch *batch, const struct batch_options *options, const struct batch_query *queries, size_t n,
		 size_t enough, struct text_buf *out, size_t *ret_n, struct gsym_diag *diag)
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
	int err = batch->module.failed ? -ENOMEM : answer_all(&run, enough, ret_n);
	batch->inside = false;
	return err;
}
