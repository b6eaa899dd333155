/* output.h - buffered writing to standard output. */
#ifndef CLI_COMMAND_OUTPUT_H
#define CLI_COMMAND_OUTPUT_H

#include "gsym/base/text_buf.h"

enum { OUTPUT_PIECE = 64 * 1024 };

/*
 * Writes all of @buf and empties it: 0, -ENOMEM if the buffer had failed, or the negative errno of write(2).
 */
int output_flush(struct text_buf *buf);

/* The same, once the buffer holds a piece. */
static inline int output_drain(struct text_buf *buf)
{
	return buf->n >= OUTPUT_PIECE || buf->failed ? output_flush(buf) : 0;
}

/* Reports that making or writing output failed with @err. Returns STATUS_FAILED. */
int output_fail(int err);

#endif
