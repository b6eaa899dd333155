/* pending_stack.h - the buffered stacks, which are resolved and written together; and the parts of that. */
#ifndef LOG_ENGINE_PENDING_STACK_H
#define LOG_ENGINE_PENDING_STACK_H

#include "log/engine/stack_buffer.h"

/* ---- Whether a log is of the build of an image: build_evidence.c ---- */

enum {
	EVIDENCE_WINDOW = 128,     /* different functions that are counted together */
	EVIDENCE_AGAINST = 2,      /* of these with another size, or start */
	EVIDENCE_MODULES_MAX = 256 /* further modules are never rejected */
};

struct module_evidence {
	char name[FILTER_NAME_SIZE];
	uint64_t seen[EVIDENCE_WINDOW]; /* functions: which, and whether it fits */
	uint32_t n_seen, n_against;
	uint64_t again; /* the function that began to accept a rejected module; 0: none */
	bool rejected;
	bool before; /* it had been rejected before it was accepted again */
};

/* Zero-initialised is empty. */
struct build_evidence {
	VEC(struct module_evidence) modules;
};

/*
 * Adds a frame. A module with an id is what its image is, and never rejected.
 *
 * @evidence: of the frames before
 * @module:   of the frame
 * @function: that it names: index in the kernel's image, or a hash of its name
 * @fits:     whether its size in the log is that in the image, or its start
 *
 * 1 if it rejects the module for the first time, 0 or -ENOMEM.
 */
int build_evidence_add(struct build_evidence *evidence, const struct filter_module *module, uint64_t function,
		       bool fits);

bool build_is_rejected(const struct build_evidence *evidence, const struct filter_module *module);

/* Forgets all frames. */
void build_evidence_reset(struct build_evidence *evidence);

void build_evidence_deinit(struct build_evidence *evidence);
size_t build_evidence_memory(const struct build_evidence *evidence);

/* ---- The stacks ---- */

struct pending_stack {
	struct stack_buffer buffer;
	/* Scratch of pending_stack_flush(). */
	VEC(struct filter_image) images;     /* of each frame; reader NULL: none */
	VEC(struct resolver_frame) resolved; /* of each frame */
	VEC(struct resolver_frame) ordered;  /* the same, in the order of calls */
	struct stack_resolver *resolver;
	struct filter_counts counts;
	/* What was left as it is, by module and cause, in the order of the first frames. */
	VEC(struct filter_unexplained) unexplained;
	struct build_evidence evidence;
	struct gsym_answer answer;
	uint64_t line_number; /* lines written as records */
};

int pending_stack_init(struct pending_stack *stack);
void pending_stack_deinit(struct pending_stack *stack);
size_t pending_stack_memory(const struct pending_stack *stack);

/* Sets the module of kernel frames that were buffered before a line gave the build id. */
void pending_stack_set_kernel(struct pending_stack *stack, const struct filter_module *kernel);

/*
 * Resolves and appends what is buffered to @out, and empties the buffer. 0; -EAGAIN and -ENOMEM, after
 * which the buffer is unchanged.
 */
int pending_stack_flush(struct pending_stack *stack, const struct filter_images *images,
			const struct filter_options *options, struct text_buf *out);

/* ---- Addresses in images: image_address.c ---- */

/* Sets the link-time address in @image of @frame, which is no name: false if it has none. */
bool image_address_of(const struct filter_images *images, const struct filter_image *image,
		      const struct log_frame *frame, uint64_t *ret);

/*
 * Whether @frame, whose address in @image was taken for @taken, might as well be in a function elsewhere: its
 * number a link-time address instead of an offset in the file, or that instead of any other.
 */
bool image_address_is_ambiguous(const struct filter_images *images, const struct filter_image *image,
				const struct log_frame *frame, uint64_t taken);

/* Returns whether addresses of @space need the segments of @image, and it has none. */
bool image_address_lacks_segments(const struct filter_images *images, const struct filter_image *image,
				  enum frame_space space);

/* Sets the link-time address of @offset in the file of @image: false if it has none, or no segments. */
bool image_address_in_file(const struct filter_images *images, const struct filter_image *image,
			   uint64_t offset, uint64_t *ret);

/* ---- Lines with their answers: log_line.c ---- */

/* A line and its resolved frames. */
struct resolved_line {
	const char *text; /* with its newline, if it has one */
	size_t size;
	struct buffered_frame *frames;         /* ascending by position; @changed is set */
	const struct resolver_frame *resolved; /* as many */
	const struct filter_image *images;     /* as many */
	size_t n;
};

/*
 * Appends the line. A frame without an answer is copied unchanged. Inlined calls get lines of their own
 * before the function's, in formats with a line for each frame, unless the line is JSON.
 *
 * @out: appended to; its errors are sticky
 * @line: the line, with its frames after stack_resolver_run()
 * @resolver: the resolver of these frames, not run again since
 * @answer: scratch of the caller, reused between calls
 * @options: of the filter
 */
void log_line_write(struct text_buf *out, const struct resolved_line *line,
		    const struct stack_resolver *resolver, struct gsym_answer *answer,
		    const struct filter_options *options);

/* Puts the colour of what was added around what @out holds from @from on. */
void log_paint(struct text_buf *out, size_t from);

/*
 * Replaces the arguments of templates in the name that @out holds from @from on by "<...>", if it is long. A
 * name whose brackets do not match stays.
 */
void log_name_fold(struct text_buf *out, size_t from);

/* Strips a directory of @options, or a root of @image, from the path that @out holds from @from on. */
void log_path_strip(struct text_buf *out, size_t from, const struct filter_options *options,
		    const struct filter_image *image);

/*
 * Appends a JSON object for each of the frames: line, module, id, address, the functions or the reason why
 * there are none; the first has the text of the line.
 *
 * @number: of lines before; advanced
 *
 * The others: as log_line_write().
 */
void log_line_record(struct text_buf *out, const struct resolved_line *line,
		     const struct stack_resolver *resolver, struct gsym_answer *answer,
		     const struct filter_options *options, uint64_t *number);

/* Appends a JSON object for each line of text, or part of a line; @number: of lines before; advanced. */
void record_text(struct text_buf *out, const char *bytes, size_t size, uint64_t *number);

/* Appends "ID ADDRESS" of frame @i, if its image is known, or its id and what the number counts from. */
void log_line_stack(struct text_buf *out, const struct resolved_line *line, size_t i, bool is_first);

#endif
