/*
 * section_stream.h - a compressed section inflated from its beginning, step by step.
 *
 * What was inflated can be read while the rest still is, by other threads, too. Compressed bytes are given
 * back to the system, and pages whose bytes are no longer needed are used again, so that a section of any
 * size takes little memory. Its bytes have their place in one mapping as large as the section.
 */
#ifndef CONVERT_OBJECT_SECTION_STREAM_H
#define CONVERT_OBJECT_SECTION_STREAM_H

#include "convert/object/object_file.h"

struct section_stream;

/*
 * Begins to inflate @section of @object. section->data becomes the mapping, of which nothing may be read yet.
 * Both are borrowed until section_stream_close(). *ret is NULL where only section_load() can decompress it.
 * 0, -EFBIG as for section_load(), or -ENOMEM.
 */
int section_stream_open(const struct object_file *object, struct object_section *section,
			struct section_stream **ret);

/* Nothing of the section may be read from now on. */
void section_stream_close(struct section_stream *stream);

/*
 * Inflates some more. One thread at a time.
 *
 * @ret: so many bytes of s->data may be read now; all of them, once the checksum was verified
 *
 * 0, -EBADMSG if the section is damaged, or -ENOMEM: then nothing that was read is to be trusted.
 */
int section_stream_step(struct section_stream *stream, uint64_t *ret);

/* The inflated bytes before @to are not read any more: they may be anything from now on. By any thread. */
void section_stream_release(struct section_stream *stream, uint64_t to);

#endif
