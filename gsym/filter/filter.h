/*
 * filter.h - logs with their addresses explained.
 *
 * Bytes in, bytes out: a log is copied, and what is known of the code addresses in it is written where
 * readers of each kind of log look for it. gsym(1), "gsym filter", lists the kinds, and what becomes of each.
 * Every other byte comes out as it went in, in its place.
 *
 * Consecutive frames are resolved as one stack (stack_resolver.h), so they are held until it ends: at the
 * next line that is no frame, or when the caller says that no more comes for now. The report of a crash on
 * Apple's systems names its images behind the frames, so it is held as a whole. All that is held has limits;
 * beyond them it is copied as it is, or cut into two stacks.
 *
 * Images belong to the caller, who may still have to make them: then filter_write() returns -EAGAIN and is
 * called again.
 */
#ifndef GSYM_FILTER_FILTER_H
#define GSYM_FILTER_FILTER_H

#include "gsym/base/text_buf.h"
#include "gsym/filter/filter_types.h"

/* What comes behind the bytes at hand. */
enum filter_rest {
	FILTER_MORE,  /* more bytes */
	FILTER_PAUSE, /* nothing for now: an open stack ends here. What is not a whole line, or a whole
			 report, waits */
	FILTER_END,   /* nothing: the last line may be without its newline */
};

struct filter;

/* @images is copied; its user lives as long as the filter. NULL without memory. */
struct filter *filter_new(const struct filter_images *images, const struct filter_options *options);
/* NULL is allowed. */
void filter_free(struct filter *filter);

/*
 * Takes the @size bytes of @bytes and appends to @out what they become; *ret_used is how many were taken, all
 * of them on success. How a log is cut into calls with FILTER_MORE makes no difference.
 *
 * 0; -EAGAIN when an image is being made: call again, with the bytes that were not taken and the same @rest;
 * -ENOMEM, after which the filter may only be freed. So it may when reading an image raises a signal (its
 * file was cut short).
 */
int filter_write(struct filter *filter, const char *bytes, size_t size, enum filter_rest rest,
		 struct text_buf *out, size_t *ret_used);

/* Counts since filter_new(). */
struct filter_counts filter_count(const struct filter *filter);

/* Bytes of memory that the filter holds: they have a limit whatever the log. */
size_t filter_memory(const struct filter *filter);

#endif
