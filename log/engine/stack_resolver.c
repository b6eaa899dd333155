#include "log/engine/stack_resolver.h"

#include "gsym/base/invariant.h"

#include <string.h>

#include "gsym/codec/callsite.h"
#include "gsym/read/lookup.h"
#include "gsym/read/reader.h"
#include "gsym/read/start_index.h"
#include "log/engine/pattern.h"

enum {
	PATTERNS_MAX = 1024, /* of one expectation */
	/* Work on one stack, so that files whose records share their bytes cannot multiply it. */
	BODIES_BUDGET = 256 * 1024,       /* candidates examined */
	SITES_BUDGET = 64 * 1024 * 1024,  /* bytes of lists of call sites read */
	SEARCH_BUDGET = 64 * 1024 * 1024, /* steps of regular expressions */
	FIXED_INSN = 4,       /* bytes of an instruction, on machines where all have the same size */
	NAME_SIZE_MAX = 4096, /* longer names neither match nor are matched */
};

struct symbol_text {
	const char *text; /* in the strings of its image */
	uint32_t size;    /* NAME_SIZE_MAX: that or more */
	uint8_t flags;    /* of an expected one: those of its call site */
};

/* A function that shares the code at an address. */
struct candidate {
	struct symbol_text name;
	uint32_t which;
	bool kept;
	/* Its patterns for the return address, in resolver->patterns. */
	uint32_t first_pattern, n_patterns;
};

/* The callees that a frame's call site names. */
struct expectation {
	const struct gsym_reader *from; /* image of that frame; NULL: nothing is expected */
	VEC(struct symbol_text) patterns;
};

struct stack_resolver {
	struct gsym_answer answer;
	struct gsym_decoder *decoder;
	struct pattern pattern;
	struct expectation expected;
	VEC(struct candidate) bodies;     /* of the frame being resolved */
	VEC(struct symbol_text) patterns; /* of all of them */
	VEC(uint32_t) kept;               /* of all frames */
	uint64_t bodies_left, sites_left, steps_left;
};

/* ---- The functions at an address ---- */

struct candidate_scan {
	struct stack_resolver *resolver;
	const struct resolver_frame *frame;
	const struct gsym_reader *reader;
	uint32_t seen;
	bool calls; /* another frame of this stack was called from here */
};

enum { SCAN_ENOUGH = -ECANCELED };

/*
 * Whether code that continues at offset @off, from which a return address may have been adjusted, follows
 * the call of @site.
 */
static bool follows_call(const struct candidate_scan *pass, const struct gsym_callsite *site, uint64_t start)
{
	uint64_t address = pass->frame->address, off = address - start;
	if (pass->frame->kind != PC_ADJUSTED)
		return site->return_off == off;
	/* Back by one byte, or by an instruction where all have the same size. */
	return site->return_off == off + 1 || (!(address % FIXED_INSN) && !(site->return_off % FIXED_INSN) &&
					       site->return_off == off + FIXED_INSN);
}

static struct symbol_text name_of(const char *text)
{
	return (struct symbol_text){.text = text, .size = (uint32_t)strnlen(text, NAME_SIZE_MAX)};
}

static int add_pattern(struct candidate_scan *pass, struct candidate *body, uint64_t strp, uint8_t flags)
{
	const char *text = gsym_reader_string(pass->reader, strp);
	struct symbol_text pattern = name_of(text ? text : "");
	if (!pattern.size || pattern.size == NAME_SIZE_MAX || body->n_patterns >= PATTERNS_MAX)
		return 0;
	pattern.flags = flags;
	body->n_patterns++;
	return vec_push(&pass->resolver->patterns, pattern);
}

/* The patterns of the calls that return to the address. */
static int add_patterns(struct candidate_scan *pass, struct candidate *body,
			const struct function_info *record)
{
	struct stack_resolver *w = pass->resolver;
	struct gsym_decoder *d = w->decoder;
	struct cursor block = record->blocks[InfoType_CallSiteInfo];
	if (!record_has(record, InfoType_CallSiteInfo) || cursor_left(&block) > w->sites_left)
		return 0;
	w->sites_left -= cursor_left(&block);
	d->callsites.n = d->patterns.n = 0;
	int err = callsite_decode(&block, &pass->reader->tables, d, NULL);
	for (size_t i = 0; !err && i < d->callsites.n; i++) {
		const struct gsym_callsite *site = &d->callsites.v[i];
		if (!follows_call(pass, site, w->answer.func_start))
			continue;
		for (uint32_t k = 0; !err && k < site->n_patterns; k++)
			err = add_pattern(pass, body, d->patterns.v[site->first_pattern + k], site->flags);
	}
	return err == -ENOMEM ? err : 0; /* a damaged list sets no expectation */
}

static int add_body(void *user, const struct function_info *record, struct gsym_diag *diag)
{
	struct candidate_scan *pass = user;
	struct stack_resolver *w = pass->resolver;
	uint32_t which = pass->seen++;
	(void)diag;
	if (!w->bodies_left)
		return SCAN_ENOUGH;
	w->bodies_left--;
	if (w->bodies.n >= STACK_CANDIDATES_MAX && which != pass->frame->which)
		return pass->frame->which == RESOLVER_ANY_BODY ? SCAN_ENOUGH : 0;
	struct candidate body = {
		.name = name_of(w->answer.frames[w->answer.n_frames - 1].name),
		.which = which,
		.kept = true,
		.first_pattern = (uint32_t)w->patterns.n,
	};
	int err = pass->calls ? add_patterns(pass, &body, record) : 0;
	return err ? err : vec_push(&w->bodies, body);
}

/* Collects the functions at the frame's address. */
static int find_bodies(struct stack_resolver *w, struct resolver_frame *frame, bool calls)
{
	struct candidate_scan pass = {.resolver = w, .frame = frame, .reader = frame->reader, .calls = calls};
	struct gsym_diag diag;
	w->bodies.n = w->patterns.n = 0;
	frame->looked_up = frame->address;
	if (frame->kind == PC_RETURN && frame->looked_up-- == 0)
		return -ENOENT;
	int err = lookup_each_merged(frame->reader, frame->looked_up, 0, &w->answer, add_body, &pass, &diag);
	frame->n_bodies = w->answer.n_merged;
	if (w->bodies.n && err != -ENOMEM)
		return 0; /* those before the damage, or before it was enough */
	return err == SCAN_ENOUGH || !err ? -ENOENT : err;
}

/* ---- Signals ---- */

static bool is_start(const struct gsym_reader *reader, uint64_t address)
{
	uint64_t off = address - reader->info.base_address;
	size_t n = address < reader->info.base_address ? 0 : reader_count_starts(reader, off);
	return n && reader_addr_off(reader, n - 1) == off;
}

static bool is_trampoline_name(const char *name)
{
	static const char *const names[] = {"__restore_rt", "__restore", "__kernel_rt_sigreturn",
					    "__kernel_sigreturn", "__default_rt_sa_restorer"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/*
 * Returns whether the handler of a signal returns to the frame, and makes it an exact one: the first byte of
 * a function that C libraries have for that, before which there is no call. Sets *ret_err to 0 or -ENOMEM.
 */
static bool is_trampoline(struct stack_resolver *w, struct resolver_frame *frame, int *ret_err)
{
	*ret_err = 0;
	if (frame->kind != PC_RETURN || frame->apart || !frame->reader ||
	    !is_start(frame->reader, frame->address))
		return false;
	*ret_err = gsym_lookup(frame->reader, frame->address, &w->answer, NULL);
	bool found = !*ret_err && is_trampoline_name(w->answer.frames[w->answer.n_frames - 1].name);
	*ret_err = *ret_err == -ENOMEM ? -ENOMEM : 0;
	frame->kind = found ? PC_EXACT : frame->kind;
	return found;
}

/* Makes the frames exact that signals interrupted: they called nothing. 0 or -ENOMEM. */
static int mark_interrupted(struct stack_resolver *w, struct resolver_frame *frames, size_t n)
{
	int err = 0;
	for (size_t i = 0; !err && i + 1 < n; i++)
		if (is_trampoline(w, &frames[i], &err) && !frames[i].outermost &&
		    frames[i + 1].kind == PC_RETURN)
			frames[i + 1].kind = PC_EXACT;
	return err;
}

/* ---- Expectations ---- */

static bool is_same_image(const struct gsym_reader *a, const struct gsym_reader *b)
{
	const struct gsym_info *x = &a->info, *y = &b->info;
	return a == b ||
	       (x->uuid_size && x->uuid_size == y->uuid_size && memcmp(x->uuid, y->uuid, x->uuid_size) == 0);
}

/* Whether the call may be to a function of the image that a frame is in: @same_image as the caller's. */
static bool allows(struct symbol_text expected, bool same_image)
{
	switch (expected.flags & (GSYM_CALLSITE_INTERNAL | GSYM_CALLSITE_EXTERNAL)) {
	case GSYM_CALLSITE_INTERNAL: return same_image;
	case GSYM_CALLSITE_EXTERNAL: return !same_image;
	default: return true;
	}
}

static bool is_equal(struct stack_resolver *w, struct symbol_text a, struct symbol_text b)
{
	uint64_t cost = a.size == b.size ? 1 + a.size / 8 : 1;
	if (w->steps_left < cost)
		return false;
	w->steps_left -= cost;
	return a.size == b.size && a.size < NAME_SIZE_MAX && memcmp(a.text, b.text, a.size) == 0;
}

/* Keeps the functions with an expected name; false when there is none. */
static bool keep_equal(struct stack_resolver *w, bool same_image)
{
	const struct expectation *e = &w->expected;
	bool any = false;
	for (size_t i = 0; i < w->bodies.n; i++) {
		struct candidate *body = &w->bodies.v[i];
		body->kept = false;
		for (size_t k = 0; k < e->patterns.n && !body->kept; k++)
			body->kept = allows(e->patterns.v[k], same_image) &&
				     is_equal(w, body->name, e->patterns.v[k]);
		any |= body->kept;
	}
	return any;
}

/* Keeps the functions that an expected pattern matches; false when there is none. */
static bool keep_matching(struct stack_resolver *w, bool same_image)
{
	const struct expectation *e = &w->expected;
	bool any = false;
	for (size_t k = 0; k < e->patterns.n; k++) {
		if (!allows(e->patterns.v[k], same_image) ||
		    pattern_compile(&w->pattern, e->patterns.v[k].text))
			continue;
		for (size_t i = 0; i < w->bodies.n; i++) {
			struct candidate *body = &w->bodies.v[i];
			if (body->name.size < NAME_SIZE_MAX && !body->kept)
				body->kept = pattern_search(&w->pattern, body->name.text, body->name.size,
							    &w->steps_left);
			any |= body->kept;
		}
	}
	return any;
}

/* The expected callee was found. Patterns that only apply to other images remain, for a frame further in. */
static void meet(struct expectation *e, bool same_image)
{
	size_t n = 0;
	for (size_t i = 0; i < e->patterns.n; i++)
		if (!allows(e->patterns.v[i], same_image))
			e->patterns.v[n++] = e->patterns.v[i];
	e->patterns.n = n;
	if (!n)
		e->from = NULL;
}

/* Narrows the functions down to those expected. */
static void apply(struct stack_resolver *w, const struct gsym_reader *reader)
{
	struct expectation *e = &w->expected;
	if (!e->from)
		return;
	bool same = is_same_image(e->from, reader);
	if (keep_equal(w, same) || keep_matching(w, same)) {
		meet(e, same);
		return;
	}
	for (size_t i = 0; i < w->bodies.n; i++)
		w->bodies.v[i].kept = true;
	/*
	 * No expected function matches. In another image the frame may be a library that calls back. In
	 * the same image the call was a different one: the caller's last frame is missing, or its callee
	 * made a tail call.
	 */
	if (same)
		e->from = NULL;
}

/* Of several functions kept, keeps only the one that the log names, if it is among them. */
static void prefer(struct stack_resolver *w, uint32_t which)
{
	bool there = false;
	for (size_t i = 0; i < w->bodies.n; i++)
		there |= w->bodies.v[i].kept && w->bodies.v[i].which == which;
	for (size_t i = 0; there && i < w->bodies.n; i++)
		w->bodies.v[i].kept = w->bodies.v[i].which == which;
}

/* Replaces the expectation by that of the functions kept, if they have one. */
static int expect(struct stack_resolver *w, const struct gsym_reader *reader)
{
	struct expectation *e = &w->expected;
	bool first = true;
	for (size_t i = 0; i < w->bodies.n; i++) {
		const struct candidate *body = &w->bodies.v[i];
		if (!body->kept || !body->n_patterns || (!first && e->patterns.n >= PATTERNS_MAX))
			continue;
		if (first)
			e->patterns.n = 0;
		if (vec_reserve(&e->patterns, body->n_patterns))
			return -ENOMEM;
		memcpy(e->patterns.v + e->patterns.n, w->patterns.v + body->first_pattern,
		       body->n_patterns * sizeof(*e->patterns.v));
		e->patterns.n += body->n_patterns;
		e->from = reader;
		first = false;
	}
	return 0;
}

/* ---- The stack ---- */

static int keep(struct stack_resolver *w, struct resolver_frame *frame)
{
	frame->first_kept = (uint32_t)w->kept.n;
	for (size_t i = 0; i < w->bodies.n; i++)
		if (w->bodies.v[i].kept && vec_push(&w->kept, w->bodies.v[i].which))
			return -ENOMEM;
	frame->n_kept = (uint32_t)(w->kept.n - frame->first_kept);
	return 0;
}

static int resolve(struct stack_resolver *w, struct resolver_frame *frame, bool calls)
{
	frame->err = -ENOENT;
	frame->n_bodies = frame->n_kept = 0;
	if (frame->outermost)
		w->expected.from = NULL;
	if (!frame->reader)
		return 0;
	frame->err = find_bodies(w, frame, calls && !frame->apart && frame->kind != PC_EXACT);
	if (frame->err)
		return frame->err == -ENOMEM ? -ENOMEM : 0;
	if (!frame->apart)
		apply(w, frame->reader);
	prefer(w, frame->which);
	int err = keep(w, frame);
	if (err || frame->apart)
		return err;
	if (frame->kind != PC_EXACT)
		return expect(w, frame->reader);
	w->expected.from = NULL;
	return 0;
}

int stack_resolver_run(struct stack_resolver *resolver, struct resolver_frame *frames, size_t n)
{
	resolver->kept.n = 0;
	resolver->expected.from = NULL;
	resolver->bodies_left = BODIES_BUDGET;
	resolver->sites_left = SITES_BUDGET;
	resolver->steps_left = SEARCH_BUDGET;
	int err = mark_interrupted(resolver, frames, n);
	for (size_t i = n; !err && i-- > 0;)
		err = resolve(resolver, &frames[i], i > 0);
	return err;
}

int stack_resolver_answer(const struct stack_resolver *resolver, const struct resolver_frame *frame,
			  uint32_t i, unsigned flags, struct gsym_answer *answer)
{
	invariant(i < frame->n_kept && frame->first_kept + i < resolver->kept.n);
	return gsym_lookup_flags(frame->reader, frame->looked_up, resolver->kept.v[frame->first_kept + i],
				 flags, answer, NULL);
}

struct stack_resolver *stack_resolver_new(void)
{
	struct stack_resolver *resolver = calloc(1, sizeof(*resolver));
	if (!resolver || (resolver->decoder = gsym_decoder_new()))
		return resolver;
	free(resolver);
	return NULL;
}

void stack_resolver_free(struct stack_resolver *resolver)
{
	if (!resolver)
		return;
	gsym_answer_deinit(&resolver->answer);
	gsym_decoder_free(resolver->decoder);
	pattern_deinit(&resolver->pattern);
	vec_free(&resolver->expected.patterns);
	vec_free(&resolver->bodies);
	vec_free(&resolver->patterns);
	vec_free(&resolver->kept);
	free(resolver);
}
