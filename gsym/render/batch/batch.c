/*
 * Queries are processed in blocks, one step for the whole block at a time: find the function, its
 * interval, the strings. Each step prefetches what the next needs, so memory latency overlaps with the
 * work on other queries and with rendering of the previous block. Functions are flattened into intervals
 * (flat_function.h), names and paths are cached as rendered (batch_cache.h): an answer is two short
 * searches and some copying. Queries for which this does not work, because something is too large or
 * damaged, are looked up individually.
 */
#include "gsym/render/batch/batch.h"

#include <stdlib.h>

#include "gsym/render/batch/batch_cache.h"
#include "gsym/render/batch/flat_function.h"
#include "gsym/base/put.h"
#include "gsym/read/lookup.h"

static_assert((int)BATCH_EXPECTED == (int)CHUNK_MOST, "what is announced is one chunk");

enum {
	BLOCK = 32,
	SHORT_HALVES = 5,  /* 32 intervals */
	ANSWER_SIZE = 128, /* estimate, to limit how many queries are looked up before @enough is reached */
};

enum answer_method {
	BY_ITSELF, /* one lookup, one answer */
	BY_SEARCH, /* of its function and interval */
	BY_PLACE,  /* found: in advance, or by search */
	IS_UNKNOWN,
	IS_DAMAGED,
};

/* A query on its way. */
struct query_state {
	enum answer_method method;
	uint32_t off; /* from the function's start */
	uint32_t file, line, node;
	struct flat_calls *calls; /* that the node is in */
	/* Of a search. */
	size_t n; /* functions that start before it */
	struct flat_function *flat;
	const uint32_t *at;              /* its interval, among those of the flat; NULL: there are none */
	uint32_t left;                   /* intervals to search, from that one on */
	const packed_location *location; /* of its interval */
};

struct batch {
	const struct gsym_reader *reader;
	struct gsym_answer answer;
	struct demangle_cache *names; /* of what is answered one by one */
	struct batch_cache cache;
	bool inside; /* set during a call; still set at the next when a signal handler has jumped out */
	VEC(struct frame_strings) strings;
	bool of_many; /* the last of these is a function that was made of many */
	struct text_buf module;
	struct query_state blocks[2][BLOCK]; /* one that is looked up, one that is answered */
};

/* Queries [at, at + n), looked up. */
struct block {
	size_t at, n;
	struct query_state *v;
};

/* One call. */
struct batch_call {
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
		batch->reader = batch->cache.reader = reader;
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
	batch_cache_deinit(&batch->cache);
	vec_free(&batch->strings);
	text_deinit(&batch->module);
	free(batch);
}

size_t batch_memory(const struct batch *batch)
{
	return batch ? sizeof(*batch) + batch_cache_bytes(&batch->cache) + demangle_cache_bytes(batch->names)
		     : 0;
}

static void tell_unanswered(const struct batch_call *call, const struct batch_query *query)
{
	if (call->options.unanswered && query->kind == BATCH_ADDRESS)
		call->options.unanswered(call->options.unanswered_user, query->addr);
}

static int answer_unknown(struct batch_call *call, const struct batch_query *query)
{
	tell_unanswered(call, query);
	return render_unknown(call->out, query->given, &call->options.render);
}

/* ---- One by one ---- */

static int answer_address(struct batch_call *call, const struct batch_query *query, struct gsym_diag *diag)
{
	struct gsym_answer *answer = &call->batch->answer;
	if (!call->reader)
		return -ENOENT;
	unsigned flags = render_lookup_flags(call->options.render.format) |
			 (call->options.near ? GSYM_LOOKUP_NEAR : 0);
	int err = gsym_lookup_flags(call->reader, query->addr, 0, flags, answer, diag);
	if (err)
		return err;
	if (call->options.is_return)
		answer_count_from_return(answer);
	if (answer->n_frames && !*answer->frames[0].base)
		tell_unanswered(call, query);
	for (size_t i = 0; call->options.shown_dir && i < answer->n_frames; i++)
		answer->frames[i].dir =
			call->options.shown_dir(call->options.shown_dir_user, answer->frames[i].dir);
	return render_answer(call->out, query->given, answer, &call->options.render);
}

/* Records the first damage; the answer is that of an unknown address. */
static int answer_by_itself(struct batch_call *call, const struct batch_query *query)
{
	struct gsym_diag first;
	const struct render_options *render = &call->options.render;
	int err = -ENOENT;
	if (query->kind == BATCH_MALFORMED)
		return render_malformed(call->out, query->text, query->size, render);
	if (query->kind == BATCH_ADDRESS)
		err = answer_address(call, query, call->damaged ? NULL : &first);
	if (!err || err == -ENOMEM)
		return err;
	if (err != -ENOENT && !call->damaged) {
		call->damaged = -EBADMSG;
		if (call->diag)
			*call->diag = first;
	}
	return answer_unknown(call, query);
}

/* ---- By place ---- */

/* What a location says. */
static void set_location(const struct batch_call *call, struct query_state *state, packed_location location)
{
	state->file = location_file(location);
	state->line = location_line(location);
	state->node = location_node(location);
	if (state->node == LOCATION_DAMAGED)
		state->method = IS_DAMAGED;
	else if (call->options.near && state->file && !state->line)
		state->method = BY_ITSELF;
	else
		state->method = BY_PLACE;
}

/*
 * Takes the places that were found in advance, and prefetches those of the block after this; true when the
 * others have to be searched.
 */
static bool take_places(struct batch_call *call, const struct block *block)
{
	struct batch_cache *cache = &call->batch->cache;
	bool search = false;
	for (size_t i = block->n; i < 2 * block->n; i++)
		chunk_expect_place(cache, block->at + i);
	for (size_t i = 0; i < block->n; i++) {
		const struct batch_query *query = &call->queries[block->at + i];
		struct query_state *state = &block->v[i];
		const struct place *place =
			query->kind == BATCH_ADDRESS ? chunk_place(cache, block->at + i, query->addr) : NULL;
		state->method = query->kind == BATCH_ADDRESS ? BY_SEARCH : BY_ITSELF;
		search |= query->kind == BATCH_ADDRESS && !place;
		if (!place)
			continue;
		state->off = place->off;
		state->calls = (struct flat_calls *)(cache->arena + place->calls);
		set_location(call, state, place->at);
	}
	return search;
}

/* ---- By search ---- */

static void find_slots(struct batch_call *call, const struct block *block)
{
	struct batch_cache *cache = &call->batch->cache;
	uint64_t base = call->reader->info.base_address;
	for (size_t i = 0; i < block->n; i++) {
		const struct batch_query *query = &call->queries[block->at + i];
		struct query_state *state = &block->v[i];
		if (state->method != BY_SEARCH)
			continue;
		state->n = query->addr >= base
				   ? start_index_count(&cache->starts, call->reader, query->addr - base)
				   : 0;
		state->method = state->n ? BY_SEARCH : IS_UNKNOWN;
		if (state->n)
			__builtin_prefetch(&cache->flat[(state->n - 1) & (cache->n_flat - 1)]);
	}
}

/* Prefetches the first @n cache lines of an object. */
static void expect_lines(const void *start, size_t n)
{
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch((const char *)start + i * CACHE_LINE);
}

/* Queries whose function is not flattened yet, or cannot be identified by its start alone. */
static void find_slowly(struct batch_call *call, size_t at, struct query_state *state)
{
	struct batch_cache *cache = &call->batch->cache;
	uint64_t off = call->queries[at].addr - call->reader->info.base_address;
	uint32_t index;
	int err = reader_find_in_prefix(call->reader, off, state->n, &index);
	if (err) {
		state->method = err == -ENOENT ? IS_UNKNOWN : BY_ITSELF;
		return;
	}
	uint64_t in = off - reader_addr_off(call->reader, index);
	state->flat = in <= UINT32_MAX
			      ? flat_function_get(cache, index,
						  (struct flat_queries){call->queries + at, call->n - at})
			      : NULL;
	state->off = (uint32_t)in;
	state->method = state->flat ? BY_SEARCH : BY_ITSELF;
}

/* Whether the function is known by its start alone, and flattened for @off, which counts from there. */
static bool answers_for(const struct flat_function *flat, uint64_t off)
{
	return flat->alone && off < flat->size && (!flat->exact || flat_function_has(flat, (uint32_t)off));
}

static void find_flat_functions(struct batch_call *call, const struct block *block)
{
	struct batch_cache *cache = &call->batch->cache;
	uint64_t base = call->reader->info.base_address;
	for (size_t i = 0; i < block->n; i++) {
		struct query_state *state = &block->v[i];
		if (state->method != BY_SEARCH)
			continue;
		arena_ref ref = cache->flat[(state->n - 1) & (cache->n_flat - 1)];
		if (ref > FLAT_NEVER)
			expect_lines(cache->arena + ref, 2); /* enough to search most of them */
	}
	for (size_t i = 0; i < block->n; i++) {
		struct query_state *state = &block->v[i];
		uint64_t off = call->queries[block->at + i].addr - base;
		if (state->method != BY_SEARCH)
			continue;
		state->flat = flat_function_find(cache, (uint32_t)(state->n - 1));
		if (state->flat && answers_for(state->flat, off - state->flat->start))
			state->off = (uint32_t)(off - state->flat->start);
		else
			find_slowly(call, block->at + i, state);
		if (state->flat)
			__builtin_prefetch(&state->flat->offs[state->flat->n / 2]);
	}
}

static void halve(struct query_state *state)
{
	uint32_t half = state->left / 2;
	state->at += state->at[half] <= state->off ? half : 0;
	state->left -= half; /* stays 1 */
}

/*
 * Binary searches of all queries of the block, interleaved: one halving for each in turn, so that each
 * waits for memory while the others compare. The last SHORT_HALVES steps are in cache and branchless: a
 * fixed number of steps for all, no mispredictions.
 */
static void search_intervals(const struct block *block)
{
	bool again = true;
	for (size_t i = 0; i < block->n; i++) {
		struct query_state *state = &block->v[i];
		state->left = state->method == BY_SEARCH ? state->flat->n : 0;
		state->at = state->left ? state->flat->offs : NULL;
	}
	while (again) {
		again = false;
		for (size_t i = 0; i < block->n; i++) {
			struct query_state *state = &block->v[i];
			if (state->left <= 1 << SHORT_HALVES)
				continue;
			halve(state);
			__builtin_prefetch(&state->at[state->left / 2]);
			again = true;
		}
	}
	for (size_t i = 0; i < block->n; i++)
		for (int k = 0; block->v[i].at && k < SHORT_HALVES; k++)
			halve(&block->v[i]);
}

/* Prefetches the locations once all intervals are found. */
static void find_locations(const struct block *block)
{
	search_intervals(block);
	for (size_t i = 0; i < block->n; i++) {
		struct query_state *state = &block->v[i];
		if (state->method != BY_SEARCH)
			continue;
		if (!state->at)
			state->method = IS_DAMAGED;
		else if (state->flat->exact && *state->at != state->off)
			state->method = BY_ITSELF;
		else
			__builtin_prefetch(state->location = &flat_locations(
						   state->flat)[state->at - state->flat->offs]);
	}
}

/*
 * Touches the first byte, without using it, so that nothing waits for it: a prefetch is dropped on a TLB
 * miss. Measured: this helps here, where texts are scattered over the arena, and not in the steps before.
 */
static void expect_text(const struct batch_cache *cache, arena_ref text)
{
	if (!text)
		return;
	(void)*(const volatile char *)cached_text_at(cache, text);
	expect_lines(cached_text_at(cache, text), 1 + (text & REF_LINES));
}

/* Parents are near the innermost node in memory; names and paths are not. */
static void expect_texts(const struct batch_call *call, const struct block *block)
{
	const struct batch_cache *cache = &call->batch->cache;
	for (size_t i = 0; i < block->n; i++) {
		const struct query_state *state = &block->v[i];
		if (state->method != BY_PLACE)
			continue;
		const struct flat_node *nodes = state->calls->nodes;
		expect_text(cache, batch_cache_find_path(cache, state->file));
		for (uint32_t at = state->node; at; at = nodes[at].parent) {
			expect_text(cache, nodes[at].text);
			expect_text(cache, batch_cache_find_path(cache, nodes[at].call_file));
		}
		expect_text(cache, nodes[0].text);
	}
}

/* Sets strings and position of a frame: 0, -EBADMSG, or -E2BIG when they are too long to be cached. */
static int set_strings(struct batch_call *call, size_t frame, struct flat_node *node, uint32_t file)
{
	struct batch_cache *cache = &call->batch->cache;
	if (!node->text)
		node->text = batch_cache_name(cache, &call->options.render, node->name);
	arena_ref path_ref = file ? batch_cache_find_path(cache, file) : 0;
	if (file && !path_ref)
		path_ref = batch_cache_path(cache, file);
	if (!node->text || (file && !path_ref))
		return -EBADMSG;
	const struct cached_text *name = cached_text_at(cache, node->text),
				 *path = cached_text_at(cache, path_ref);
	if (name->too_long || (file && path->too_long))
		return -E2BIG;
	call->batch->of_many = name->of_many;
	call->batch->strings.v[frame] = (struct frame_strings){
		.name = text_shown(name),
		.linkage = text_linkage(name),
		.path = file ? text_shown(path) : (struct span){0},
	};
	return 0;
}

static int make_room(struct batch *batch, size_t frames)
{
	struct gsym_answer *answer = &batch->answer;
	if (frames < answer->cap_frames && frames < batch->strings.cap)
		return 0;
	struct gsym_frame *grown = realloc(answer->frames, 2 * (frames + 8) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	answer->frames = grown;
	answer->cap_frames = 2 * (frames + 8);
	return vec_reserve(&batch->strings, 2 * (frames + 8));
}

/* Makes the frames of a interval: 0, -ENOMEM, or what set_strings() says. */
static int make_frames(struct batch_call *call, const struct query_state *state)
{
	struct gsym_answer *answer = &call->batch->answer;
	uint64_t off = state->off;
	uint32_t file = state->file, line = state->line;
	struct flat_node *nodes = state->calls->nodes;
	size_t n = 0;
	for (uint32_t at = state->node;; at = nodes[at].parent) {
		struct flat_node *node = &nodes[at];
		int err = make_room(call->batch, n);
		if (!err)
			err = set_strings(call, n, node, file);
		if (err)
			return err;
		answer->frames[n++] = (struct gsym_frame){
			.offset = off - node->first + call->options.is_return,
			.line = line,
			.inlined = at > 0,
		};
		if (!at)
			break;
		file = node->call_file;
		line = node->call_line;
	}
	answer->n_frames = n;
	answer->n_merged = state->calls->n_merged;
	answer->has_rows = state->file || n > 1;
	answer->frames[0].approximate = n == 1 && state->file && line && call->batch->of_many;
	return 0;
}

static int answer_by_place(struct batch_call *call, const struct batch_query *query,
			   const struct query_state *state)
{
	int err = make_frames(call, state);
	if (err)
		return err == -ENOMEM ? err : answer_by_itself(call, query);
	if (!state->file)
		tell_unanswered(call, query);
	const struct span module = text_span(&call->batch->module);
	return render_view(call->out, &(struct answer_view){
					      .addr = query->given,
					      .answer = &call->batch->answer,
					      .strings = call->batch->strings.v,
					      .module = &module,
					      .options = &call->options.render,
				      });
}

static int answer_found(struct batch_call *call, const struct batch_query *query,
			const struct query_state *state)
{
	switch (state->method) {
	case BY_PLACE: return answer_by_place(call, query, state);
	case IS_UNKNOWN: return answer_unknown(call, query);
	case IS_DAMAGED:
		if (call->damaged) /* otherwise look up for the diagnosis */
			return answer_unknown(call, query);
		break;
	case BY_SEARCH:
	case BY_ITSELF: break;
	}
	return answer_by_itself(call, query);
}

/* ---- All of them ---- */

/* Size of the next block, given @left bytes until the output is full. */
static size_t block_size(size_t n, size_t left)
{
	size_t worth = left / ANSWER_SIZE + 1;
	n = n < worth ? n : worth;
	return n < BLOCK ? n : BLOCK;
}

static void search_block(struct batch_call *call, const struct block *block)
{
	/* Addresses below the base wrap to a bucket past the last, for which nothing is prefetched. */
	const struct batch_cache *cache = &call->batch->cache;
	const struct batch_query *queries = call->queries + block->at;
	uint64_t base = call->reader->info.base_address;
	for (size_t i = 0; i < block->n; i++)
		start_index_prefetch(&cache->starts, queries[i].addr - base);
	for (size_t i = 0; i < block->n; i++)
		start_index_prefetch_functions(&cache->starts, call->reader, queries[i].addr - base);
	find_slots(call, block);
	find_flat_functions(call, block);
	find_locations(block);
	for (size_t i = 0; i < block->n; i++) {
		struct query_state *state = &block->v[i];
		if (state->method != BY_SEARCH)
			continue;
		state->calls = flat_calls(state->flat);
		set_location(call, state, *state->location);
		__builtin_prefetch(&state->calls->nodes[state->node]);
	}
}

static void look_up_block(struct batch_call *call, const struct block *block)
{
	for (size_t i = 0; !call->prepared && i < block->n; i++)
		block->v[i].method = BY_ITSELF;
	if (!call->prepared)
		return;
	if (take_places(call, block))
		search_block(call, block);
	expect_texts(call, block);
}

/*
 * Looks up the block after @last, whose answers are still to be rendered, unless these reach @enough
 * bytes.
 */
static struct block look_ahead(struct batch_call *call, const struct block *last, size_t enough)
{
	size_t done = last->at + last->n, there = call->out->n + last->n * ANSWER_SIZE;
	struct block block = {.at = done, .v = call->batch->blocks[last->v == call->batch->blocks[0]]};
	if (last->n &&
	    (there >= enough ||
	     batch_cache_is_full(&call->batch->cache))) /* the cache must not be emptied before they are */
		return block;
	if (call->prepared)
		batch_cache_refresh(&call->batch->cache);
	block.n = block_size(call->n - done, enough > there ? enough - there : 0);
	look_up_block(call, &block);
	return block;
}

static bool is_stopped(const struct batch_call *call)
{
	return call->options.stop && call->options.stop(call->options.user);
}

/* Whether the answer may have taken so long that reading the clock is worth it. */
static bool took_long(const struct query_state *state)
{
	return state->method != BY_PLACE && state->method != IS_UNKNOWN;
}

/* Answers a block, or as much of it as is wanted; *ret_more says whether more is. */
static int answer_block(struct batch_call *call, struct block *block, size_t enough, bool *ret_more)
{
	size_t i = 0;
	bool more = true;
	while (more && i < block->n) {
		const struct query_state *state = &block->v[i];
		int err = answer_found(call, &call->queries[block->at + i++], state);
		render_end_record(call->out, call->options.render.format);
		if (err || call->out->failed ||
		    (call->options.ends && vec_push(call->options.ends, call->out->n)))
			return -ENOMEM;
		more = call->out->n < enough && !(took_long(state) && is_stopped(call));
	}
	block->n = i;
	*ret_more = more && !is_stopped(call);
	return 0;
}

/* Pipelined: the next block is looked up, and prefetched, before the current one is rendered. */
static int answer_all(struct batch_call *call, size_t enough, size_t *ret_n)
{
	const struct block none = {.v = call->batch->blocks[0]};
	struct block now = look_ahead(call, &none, enough);
	bool more = true;
	while (more) {
		struct block next = look_ahead(call, &now, enough);
		int err = answer_block(call, &now, enough, &more);
		if (err)
			return err;
		*ret_n = now.at + now.n;
		more = more && *ret_n < call->n;
		now = next.n || !more ? next
				      : look_ahead(call, &(struct block){.at = *ret_n, .v = now.v}, enough);
	}
	return call->damaged;
}

/* Whether there is a cache for these options. A call that a signal handler left has left it in pieces. */
static bool begin_batch(struct batch *batch, const struct batch_options *options, size_t n)
{
	if (batch->inside)
		batch_cache_deinit(&batch->cache);
	batch->inside = true;
	batch->cache.shown_dir = options->shown_dir;
	batch->cache.shown_dir_user = options->shown_dir_user;
	return batch->reader && render_format_of(options->render.format)->takes_strings &&
	       batch_cache_begin(&batch->cache, &options->render, n);
}

size_t batch_expect(struct batch *batch, const struct batch_options *options,
		    const struct batch_query *queries, size_t n)
{
	n = n < BATCH_EXPECTED ? n : BATCH_EXPECTED;
	if (begin_batch(batch, options, n)) {
		batch_cache_end_chunk(&batch->cache);
		batch_cache_refresh(&batch->cache);
		if (!chunk_begin(&batch->cache, queries, n))
			chunk_find(&batch->cache, &options->render, options->stop, options->user);
	}
	batch->inside = false;
	return n;
}

bool batch_expect_more(struct batch *batch, const struct batch_options *options)
{
	bool prepared = begin_batch(batch, options, 0);
	if (prepared)
		chunk_find(&batch->cache, &options->render, options->stop, options->user);
	batch->inside = false;
	return prepared && !chunk_is_found(&batch->cache);
}

int batch_answer(struct batch *batch, const struct batch_options *options, const struct batch_query *queries,
		 size_t n, size_t enough, struct text_buf *out, size_t *ret_n, struct gsym_diag *diag)
{
	struct batch_call call = {
		.batch = batch,
		.reader = batch->reader,
		.options = *options,
		.queries = queries,
		.n = n,
		.out = out,
		.diag = diag,
	};
	const struct output_format *format = render_format_of(options->render.format);
	call.options.render.cache = batch->names;
	call.prepared = begin_batch(batch, options, n);
	text_reset(&batch->module);
	format_module(&batch->module, &options->render, format);
	int err = batch->module.failed || !text_reserve(&batch->module, PUT_SLACK)
			  ? -ENOMEM
			  : answer_all(&call, enough, ret_n);
	if (call.prepared && err != -ENOMEM)
		chunk_advance(&batch->cache, *ret_n);
	batch->inside = false;
	return err;
}
