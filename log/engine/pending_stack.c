#include "log/engine/pending_stack.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "gsym/base/invariant.h"
#include "log/engine/symbol_match.h"

enum {
	UNEXPLAINED_MAX = 256, /* entries; frames of further modules are not listed */
	LOAD_ALIGNMENT = 4096, /* bytes: of all systems, at least */
	PLACE_SLACK = 1,       /* bytes: only one of both may have been moved back into a call */
};

int pending_stack_init(struct pending_stack *stack)
{
	stack->resolver = stack_resolver_new();
	return stack->resolver ? 0 : -ENOMEM;
}

void pending_stack_deinit(struct pending_stack *stack)
{
	stack_buffer_deinit(&stack->buffer);
	vec_free(&stack->ordered);
	vec_free(&stack->resolved);
	vec_free(&stack->images);
	vec_free(&stack->unexplained);
	build_evidence_deinit(&stack->evidence);
	stack_resolver_free(stack->resolver);
	gsym_answer_deinit(&stack->answer);
}

size_t pending_stack_memory(const struct pending_stack *stack)
{
	return stack_buffer_memory(&stack->buffer) + stack->ordered.cap * sizeof(*stack->ordered.v) +
	       stack->resolved.cap * sizeof(*stack->resolved.v) +
	       stack->images.cap * sizeof(*stack->images.v) +
	       stack->unexplained.cap * sizeof(*stack->unexplained.v) +
	       build_evidence_memory(&stack->evidence);
}

/* ---- Frames that are not explained ---- */

static bool is_same_entry(const struct filter_unexplained *a, const struct filter_unexplained *b)
{
	return a->cause == b->cause && strcmp(a->module.id, b->module.id) == 0 &&
	       strcmp(a->module.name, b->module.name) == 0 &&
	       strcmp(a->module.release, b->module.release) == 0;
}

/* Counts a frame, in the entry of its module and cause or in a new one. 0 or -ENOMEM. */
static int add_unexplained(struct pending_stack *stack, const struct filter_unexplained *frame)
{
	size_t i = 0;
	while (i < stack->unexplained.n && !is_same_entry(&stack->unexplained.v[i], frame))
		i++;
	if (i >= UNEXPLAINED_MAX)
		return 0;
	if (i == stack->unexplained.n) {
		if (vec_push(&stack->unexplained, *frame))
			return -ENOMEM;
		stack->unexplained.v[i].n_frames = 0;
	}
	stack->unexplained.v[i].n_frames++;
	return 0;
}

/* ---- Images ---- */

void pending_stack_set_kernel(struct pending_stack *stack, const struct filter_module *kernel)
{
	for (size_t i = 0; i < stack->buffer.frames.n; i++) {
		struct buffered_frame *frame = &stack->buffer.frames.v[i];
		const char *release = frame->is.module.release;
		if (!frame->is.module.is_kernel || frame->is.module.id[0] ||
		    (release[0] && strcmp(release, kernel->release) != 0)) /* of the trace before */
			continue;
		if (strcmp(frame->is.module.name, kernel->name) == 0)
			frame->is.module = *kernel;
		else
			memcpy(frame->is.module.release, kernel->release, sizeof(kernel->release));
	}
}

static bool is_same_module(const struct filter_module *a, const struct filter_module *b)
{
	return strcmp(a->id, b->id) == 0 && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->release, b->release) == 0 && a->is_kernel == b->is_kernel &&
	       a->is_word == b->is_word && a->needs_names == b->needs_names &&
	       a->needs_shown == b->needs_shown;
}

/* The last frame before @i with the same module, or @i. */
static size_t find_same(const struct pending_stack *stack, size_t i)
{
	for (size_t k = i; k-- > 0;)
		if (is_same_module(&stack->buffer.frames.v[k].is.module,
				   &stack->buffer.frames.v[i].is.module))
			return k;
	return i;
}

static int find_image(struct pending_stack *stack, const struct filter_images *images, size_t i,
		      bool *ret_wait)
{
	struct buffered_frame *frame = &stack->buffer.frames.v[i];
	struct filter_image *image = &stack->images.v[i];
	frame->is.module.needs_names = frame->is.space == FRAME_NAME;
	*image = (struct filter_image){.reader = NULL};
	if (frame->is.unmapped) {
		frame->image_err = -ENXIO;
		return 0;
	}
	size_t same = find_same(stack, i);
	if (same != i || frame->is.space == FRAME_MANGLED) {
		*image = same != i ? stack->images.v[same] : *image;
		frame->image_err = stack->buffer.frames.v[same].image_err;
		return 0;
	}
	int err = images->find(images->user, &frame->is.module, image);
	*ret_wait |= err == -EAGAIN;
	frame->image_err = err;
	if (err)
		image->reader = NULL;
	return err == -ENOMEM ? err : 0;
}

/* All images are requested before waiting, so that they can be converted concurrently. */
static int find_images(struct pending_stack *stack, const struct filter_images *images)
{
	bool wait = false;
	int err = 0;
	if (vec_reserve(&stack->images, stack->buffer.frames.n))
		return -ENOMEM;
	for (size_t i = 0; !err && i < stack->buffer.frames.n; i++)
		err = find_image(stack, images, i, &wait);
	return err ? err : wait ? -EAGAIN : 0;
}

/* ---- Addresses ---- */

static int note_size(struct pending_stack *stack, enum filter_cause cause, struct buffered_frame *frame,
		     const struct kernel_symbol *symbol, uint64_t image_size)
{
	struct filter_unexplained entry = {
		.cause = cause,
		.module = frame->is.module,
		.logged_size = symbol->size,
		.image_size = image_size,
	};
	invariant(symbol->name_size < sizeof(entry.symbol));
	memcpy(entry.symbol, symbol->name, symbol->name_size);
	frame->listed = true;
	return add_unexplained(stack, &entry);
}

/* @err: of symbol_match(). 0 or -ENOMEM. */
static int weigh_size(struct pending_stack *stack, struct buffered_frame *frame,
		      const struct kernel_symbol *symbol, const struct symbol_match *match, int err)
{
	if ((err && err != -ESTALE) || !symbol->size)
		return 0;
	int rejects = build_evidence_add(&stack->evidence, &frame->is.module, match->index, !err);
	if (rejects < 0 || (err && note_size(stack, FILTER_OTHER_BUILD, frame, symbol, match->size)))
		return -ENOMEM;
	return rejects ? note_size(stack, FILTER_REJECTED, frame, symbol, match->size) : 0;
}

/*
 * The code of ppc64 has the name of the function with a dot before it, which is not in the image. @ret_exact:
 * whether the image has the very name.
 */
static int match_symbol(const struct filter_image *image, struct kernel_symbol symbol,
			struct symbol_match *ret, bool *ret_exact)
{
	int err = symbol_match(image->reader, &symbol, ret);
	*ret_exact = !err;
	if (err == -ENOENT && image->shown)
		return shown_match(image, &symbol, ret);
	if (err != -ENOENT || symbol.name_size < 2 || symbol.name[0] != '.')
		return err;
	symbol.name++;
	symbol.name_size--;
	return symbol_match(image->reader, &symbol, ret);
}

/* Adds whether a function starts where the log says. 0 or -ENOMEM. */
static int weigh_start(struct pending_stack *stack, struct buffered_frame *frame, const char *name,
		       size_t size, bool fits)
{
	int rejects = build_evidence_add(&stack->evidence, &frame->is.module, XXH3_64bits(name, size), fits);
	const struct kernel_symbol symbol = {.name = name, .name_size = size};
	frame->misnamed = !fits;
	return rejects > 0 ? note_size(stack, FILTER_REJECTED, frame, &symbol, 0) : rejects;
}

/*
 * The address in memory that glibc prints besides "name+0x12" is whole pages from that in the image, unless
 * the function starts elsewhere. One whose name is that of the log but for a version may be another version,
 * in the same build.
 */
static int check_place(struct pending_stack *stack, struct buffered_frame *frame,
		       const struct kernel_symbol *symbol, bool is_exact, struct resolver_frame *ret)
{
	if (!frame->is.shown || frame->is.module.id[0] || frame->is.module.is_kernel)
		return 0;
	bool fits = (frame->is.shown - ret->address + PLACE_SLACK) % LOAD_ALIGNMENT <= 2 * PLACE_SLACK;
	if (!fits)
		ret->reader = NULL;
	frame->several = !fits && !is_exact;
	if (frame->several)
		return 0;
	return weigh_start(stack, frame, symbol->name, symbol->name_size, fits);
}

/*
 * perf prints the address besides "name+0x12". It decides where the name does not: the symbols that perf
 * reads include aliases, clones and parts of functions, which images have under another name or not at all.
 * 0, -ENOENT or -ENOMEM.
 */
static int match_start(const struct filter_images *images, const struct filter_image *image,
		       const struct log_frame *frame, const struct kernel_symbol *symbol,
		       struct symbol_match *ret)
{
	uint64_t address = frame->shown;
	if (!address || frame->module.is_kernel)
		return -ENOENT;
	int err = symbol_match_start(image->reader, symbol, address - frame->address, ret);
	if (err == -ENOENT && image_address_in_file(images, image, frame->shown, &address))
		err = symbol_match_start(image->reader, symbol, address - frame->address, ret);
	if (!err)
		ret->which = RESOLVER_ANY_BODY;
	return err;
}

/*
 * Looks for a symbol that the kernel does not have in its modules: traces need not say of which it is. The
 * only one that has it becomes the image of frame @i. 0, -ENOENT, -ENOTUNIQ, -ENOMEM.
 */
static int match_in_modules(struct pending_stack *stack, const struct filter_images *images, size_t i,
			    struct kernel_symbol symbol, struct symbol_match *ret)
{
	const struct filter_module kernel = stack->buffer.frames.v[i].is.module;
	struct filter_image image;
	struct symbol_match match;
	int err = -ENOENT, next = 0;
	bool is_exact;
	symbol.of_module = true;
	for (size_t k = 0; !next; k++) {
		next = images->module(images->user, &kernel, k, &image);
		int found = next ? next : match_symbol(&image, symbol, &match, &is_exact);
		if (found == -ENOMEM || (!found && !err))
			return found ? found : -ENOTUNIQ;
		if (found)
			continue;
		err = 0;
		*ret = match;
		stack->images.v[i] = image;
		stack->resolved.v[i].reader = image.reader;
	}
	return err;
}

static int locate_name(struct pending_stack *stack, const struct filter_images *images,
		       const struct buffered_line *line, size_t i)
{
	struct buffered_frame *frame = &stack->buffer.frames.v[i];
	struct resolver_frame *ret = &stack->resolved.v[i];
	bool in_call = frame->is.kind == PC_RETURN;
	const struct kernel_symbol symbol = {
		.name = stack->buffer.text.v + line->off + frame->is.symbol_from,
		.name_size = frame->is.symbol_to - frame->is.symbol_from,
		.size = frame->is.symbol_size,
		.off = frame->is.address - in_call,
		.of_module = strcmp(frame->is.module.name, "vmlinux") != 0,
	};
	struct symbol_match match;
	bool is_exact;
	int err = match_symbol(&stack->images.v[i], symbol, &match, &is_exact);
	if (err == -ENOMEM || weigh_size(stack, frame, &symbol, &match, err))
		return -ENOMEM;
	if (err == -ENOENT && images->module && frame->is.module.is_kernel && !symbol.of_module)
		err = match_in_modules(stack, images, i, symbol, &match);
	int by_name = err;
	if (err == -ENOTUNIQ || err == -ENOENT)
		err = match_start(images, &stack->images.v[i], &frame->is, &symbol, &match);
	frame->several = err && by_name == -ENOTUNIQ;
	frame->unnamed = err && by_name == -ENOENT;
	if (err == -ENOMEM)
		return err;
	if (err) {
		ret->reader = NULL;
		return 0;
	}
	ret->which = match.which;
	ret->address = match.address + in_call;
	return check_place(stack, frame, &symbol, is_exact, ret);
}

/* A module without an id was found by its name, which builds share: what else the line says must fit. */
static int check_claim(struct pending_stack *stack, const struct buffered_line *line, size_t i)
{
	struct buffered_frame *frame = &stack->buffer.frames.v[i];
	struct resolver_frame *ret = &stack->resolved.v[i];
	const char *text = stack->buffer.text.v + line->off;
	struct log_claim claim;
	enum claim_verdict verdict;
	if (frame->is.module.id[0] || frame->is.module.is_kernel || line->n != 1 ||
	    !log_claim_find(scan_from(text, text + line->size), &frame->is, &claim))
		return 0;
	if (symbol_claim_check(ret->reader, &claim, ret->address, &verdict))
		return -ENOMEM;
	if (verdict == CLAIM_UNKNOWN)
		return 0;
	if (verdict == CLAIM_DIFFERS)
		ret->reader = NULL;
	return weigh_start(stack, frame, claim.name, claim.name_size, verdict == CLAIM_FITS);
}

static int locate_frame(struct pending_stack *stack, const struct filter_images *images,
			const struct buffered_line *line, size_t i)
{
	struct buffered_frame *frame = &stack->buffer.frames.v[i];
	const struct filter_image *image = &stack->images.v[i];
	struct resolver_frame *ret = &stack->resolved.v[i];
	*ret = (struct resolver_frame){
		.reader = image->reader,
		.address = frame->is.address,
		.which = RESOLVER_ANY_BODY,
		.kind = frame->is.kind,
		.apart = frame->is.apart,
	};
	if (ret->reader && !image_address_of(images, image, &frame->is, &ret->address)) {
		frame->unplaced =
			image_address_lacks_segments(images, image, (enum frame_space)frame->is.space);
		ret->reader = NULL;
	}
	if (!ret->reader)
		return 0;
	frame->stripped = gsym_reader_info(ret->reader)->num_files <= 1;
	frame->ambiguous = image_address_is_ambiguous(images, image, &frame->is, ret->address);
	return frame->is.space == FRAME_NAME ? locate_name(stack, images, line, i)
					     : check_claim(stack, line, i);
}

static int locate_all(struct pending_stack *stack, const struct filter_images *images)
{
	if (vec_reserve(&stack->resolved, stack->buffer.frames.n))
		return -ENOMEM;
	for (size_t k = 0; k < stack->buffer.lines.n; k++) {
		const struct buffered_line *line = &stack->buffer.lines.v[k];
		for (size_t i = line->first; i < line->first + line->n; i++)
			if (locate_frame(stack, images, line, i))
				return -ENOMEM;
	}
	return 0;
}

/*
 * Drops the frames of rejected modules, also those of this stack that were located before another of it
 * rejected theirs. 0 or -ENOMEM.
 */
static int drop_rejected(struct pending_stack *stack)
{
	int err = 0;
	for (size_t i = 0; !err && i < stack->buffer.frames.n; i++) {
		struct buffered_frame *frame = &stack->buffer.frames.v[i];
		const struct filter_unexplained entry = {.cause = FILTER_REJECTED,
							 .module = frame->is.module};
		if (!stack->resolved.v[i].reader ||
		    (frame->is.module.is_kernel && frame->is.space != FRAME_NAME) ||
		    !build_is_rejected(&stack->evidence, &frame->is.module))
			continue;
		stack->resolved.v[i].reader = NULL;
		frame->listed = true;
		err = add_unexplained(stack, &entry);
	}
	return err;
}

/* ---- Resolving ---- */

/* Visits the frames to resolve, chain by chain, and copies them to @stack->ordered or, if @back, back. */
static void move_frames(struct pending_stack *stack, bool back)
{
	const struct stack_buffer *buffer = &stack->buffer;
	size_t n = 0;
	for (uint32_t chain = 0; chain < buffer->n_chains; chain++) {
		for (size_t i = 0; i < buffer->frames.n; i++) {
			if (buffer->frames.v[i].chain != chain || buffer->frames.v[i].same != FRAME_NONE)
				continue;
			if (back)
				stack->resolved.v[i] = stack->ordered.v[n++];
			else
				stack->ordered.v[n++] = stack->resolved.v[i];
		}
		if (n)
			stack->ordered.v[n - 1].outermost = true;
	}
	stack->ordered.n = n;
}

static int resolve_chains(struct pending_stack *stack)
{
	const struct stack_buffer *buffer = &stack->buffer;
	if (vec_reserve(&stack->ordered, buffer->frames.n))
		return -ENOMEM;
	move_frames(stack, false);
	int err = stack_resolver_run(stack->resolver, stack->ordered.v, stack->ordered.n);
	if (err)
		return err;
	move_frames(stack, true);
	for (size_t i = buffer->frames.n; i-- > 0;)
		if (buffer->frames.v[i].same != FRAME_NONE)
			stack->resolved.v[i] = stack->resolved.v[buffer->frames.v[i].same];
	return 0;
}

static enum filter_cause cause_of(const struct buffered_frame *frame)
{
	switch (frame->image_err) {
	case 0: break;
	case -ENODATA: return FILTER_NO_ID;
	case -ENXIO: return FILTER_NO_MAPPING;
	case -ENOTUNIQ: return FILTER_AMBIGUOUS;
	case -ESTALE: return FILTER_OTHER_RELEASE;
	default: return FILTER_NO_IMAGE;
	}
	if (frame->several)
		return FILTER_SEVERAL;
	if (frame->misnamed)
		return FILTER_OTHER_FUNCTION;
	if (frame->ambiguous)
		return FILTER_FILE_OFFSET; /* which is the other reading of both addresses */
	if (frame->unplaced)
		return FILTER_NO_SEGMENTS;
	if (frame->unnamed)
		return FILTER_NO_NAME;
	return frame->stripped ? FILTER_NO_DEBUG_DATA : FILTER_NO_FUNCTION;
}

/* Counts a frame, and lists it if it was not explained and is not listed for its size. 0 or -ENOMEM. */
static int count_frame(struct pending_stack *stack, const struct buffered_frame *frame,
		       const struct resolver_frame *resolved)
{
	if (frame->is.space == FRAME_MANGLED || (frame->is.module.is_word && frame->image_err))
		return 0;
	if (frame->is.unmapped && frame->is.may_be_number) {
		stack->counts.bare++;
		return 0;
	}
	bool has_all = frame->is.has_symbol && frame->image_err; /* as frames of the system's libraries */
	if (frame->is.silent || has_all || (!resolved->err && !frame->changed)) {
		stack->counts.known++;
		return 0;
	}
	struct filter_unexplained entry = {.cause = cause_of(frame), .module = frame->is.module};
	if (frame->is.is_estimate && resolved->err && !frame->image_err) {
		if (frame->is.may_be_number)
			return 0;
		entry = (struct filter_unexplained){.cause = FILTER_NO_MAPPING};
	}
	stack->counts.met++;
	stack->counts.found += !resolved->err;
	if (frame->ambiguous && !resolved->err)
		*(frame->is.space == FRAME_RVA             ? &stack->counts.as_relative
		  : resolved->address == frame->is.address ? &stack->counts.as_addresses
							   : &stack->counts.as_offsets) += 1;
	return resolved->err && !frame->listed ? add_unexplained(stack, &entry) : 0;
}

static int count_all(struct pending_stack *stack)
{
	int err = 0;
	for (size_t i = 0; !err && i < stack->buffer.frames.n; i++)
		err = count_frame(stack, &stack->buffer.frames.v[i], &stack->resolved.v[i]);
	return err;
}

/* @chain: of the last frame that was written; FRAME_NONE: none */
static void write_stack_frames(const struct resolved_line *line, uint32_t *chain, struct text_buf *out)
{
	for (size_t i = 0; i < line->n; i++) {
		bool is_first = line->frames[i].chain != *chain;
		if (is_first && *chain != FRAME_NONE)
			text_char(out, '\n');
		*chain = line->frames[i].chain;
		log_line_stack(out, line, i, is_first);
	}
}

/* Records have the answer even where the line has it already. */
static void set_causes(const struct resolved_line *line)
{
	for (size_t i = 0; i < line->n; i++) {
		line->frames[i].changed = true;
		line->frames[i].cause = (uint8_t)cause_of(&line->frames[i]);
	}
}

static void write_lines(struct pending_stack *stack, const struct filter_options *options,
			struct text_buf *out)
{
	uint32_t chain = FRAME_NONE;
	for (size_t i = 0; i < stack->buffer.lines.n; i++) {
		const struct buffered_line *line = &stack->buffer.lines.v[i];
		struct resolved_line place = {
			.text = stack->buffer.text.v + line->off,
			.size = line->size,
			.frames = stack->buffer.frames.v + line->first,
			.resolved = stack->resolved.v + line->first,
			.images = stack->images.v + line->first,
			.n = line->n,
		};
		if (options->output != FILTER_LOG && options->output != FILTER_FOLDED)
			set_causes(&place);
		if (options->output == FILTER_RECORDS)
			log_line_record(out, &place, stack->resolver, &stack->answer, options,
					&stack->line_number);
		else if (options->output == FILTER_STACKS)
			write_stack_frames(&place, &chain, out);
		else
			log_line_write(out, &place, stack->resolver, &stack->answer, options);
	}
	if (chain != FRAME_NONE)
		text_char(out, '\n');
}

int pending_stack_flush(struct pending_stack *stack, const struct filter_images *images,
			const struct filter_options *options, struct text_buf *out)
{
	if (!stack->buffer.lines.n)
		return 0;
	int err = find_images(stack, images);
	if (!err)
		err = locate_all(stack, images);
	if (!err)
		err = drop_rejected(stack);
	if (!err)
		err = resolve_chains(stack);
	if (err)
		return err;
	write_lines(stack, options, out);
	err = count_all(stack);
	stack_buffer_reset(&stack->buffer);
	return out->failed ? -ENOMEM : err;
}
