/*
 * filter.h - symbolication of logs.
 *
 * Bytes in, bytes out: the log is copied, with code addresses replaced or extended where each kind of log
 * has them. gsym(1), "gsym filter", lists the formats and what is written for each. All other bytes are
 * copied unchanged and in order.
 *
 * Consecutive frames are resolved as one stack (stack_resolver.h), so they are buffered until it ends: at
 * the next line without a frame, or when the caller signals a pause. Apple's crash reports list images
 * after the frames, so a report is buffered as a whole. All buffers have limits; beyond them input is
 * copied unchanged, or a stack is split.
 *
 * Images belong to the caller, and may still have to be converted: then filter_write() returns -EAGAIN and
 * is called again.
 */
#ifndef LOG_ENGINE_FILTER_H
#define LOG_ENGINE_FILTER_H

#include "gsym/base/text_buf.h"
#include "log/line/filter_types.h"

/* What follows the bytes given. */
enum filter_rest {
	FILTER_MORE,  /* more bytes */
	FILTER_PAUSE, /* nothing for now: an open stack ends here; an incomplete line or report stays
			 buffered */
	FILTER_END,   /* nothing: the last line may be without its newline */
};

struct filter;

/* @images is copied; its user lives as long as the filter. NULL without memory. */
struct filter *filter_new(const struct filter_images *images, const struct filter_options *options);
/* NULL is allowed. */
void filter_free(struct filter *filter);

/*
 * Tells where code is in memory, for logs with nothing but addresses; what the log itself tells takes
 * precedence. A line of /proc/PID/maps; others are ignored. 0 or -ENOMEM.
 */
int filter_add_mapping(struct filter *filter, const char *line, size_t size);

/*
 * The same for a module whose load address or slide is known. 0 or -ENOMEM.
 *
 * @filter: from filter_new()
 * @module: the module
 * @start, @end: its range in memory, which may be too long: what is in no function of it is not its code
 * @relative: what @start is: an offset from the load address or, if @is_link, a link-time address
 */
int filter_add_module(struct filter *filter, const struct filter_module *module, uint64_t start, uint64_t end,
		      uint64_t relative, bool is_link);

/*
 * The same for the code of a program that cannot move, at its link-time addresses. It counts only in frames,
 * not for any number, and not where the code of two programs is. 0 or -ENOMEM.
 *
 * @filter: from filter_new()
 * @module: the module
 * @start, @end: its range in memory
 */
int filter_add_fixed(struct filter *filter, const struct filter_module *module, uint64_t start, uint64_t end);

/*
 * Processes input.
 *
 * @filter: from filter_new()
 * @bytes, @size: input; splitting it into calls with FILTER_MORE makes no difference
 * @rest: what follows
 * @out: appended to
 * @ret_used: bytes consumed, all of them on success
 *
 * Returns 0; -EAGAIN when an image is being converted: call again with the bytes that were not consumed
 * and the same @rest; -ENOMEM, after which the filter may only be freed, as after a signal raised by
 * reading an image (its file was truncated).
 */
int filter_write(struct filter *filter, const char *bytes, size_t size, enum filter_rest rest,
		 struct text_buf *out, size_t *ret_used);

/* Counts since filter_new(). */
struct filter_counts filter_count(const struct filter *filter);

/*
 * Frames that were not explained, by module and cause, since filter_new(): *@ret and their number. The list
 * only grows, in the order of first frames; an entry's count grows, too. Valid until the next call that
 * changes the filter.
 */
size_t filter_unexplained(const struct filter *filter, const struct filter_unexplained **ret);

/* Bytes of memory in use; bounded for any input. */
size_t filter_memory(const struct filter *filter);

#endif
