/*
 * debugdata.c - .gnu_debugdata (MiniDebugInfo): an xz-compressed ELF file with only a symbol table, which
 * distributions leave in stripped programs.
 */
#include "convert/object/debug_files.h"

#include "convert/object/object_open.h"

#include <lzma.h>

enum {
	DECODER_MEMORY = 256 << 20,
	OUTPUT_MAX = 256 << 20, /* real ones have a few megabytes */
};

typedef VEC(uint8_t) byte_vec;

/* The whole stream. -EBADMSG when it is damaged, -EFBIG past OUTPUT_MAX. */
static int decode(lzma_stream *stream, byte_vec *out)
{
	for (;;) {
		if (vec_reserve(out, 65536))
			return -ENOMEM;
		stream->next_out = out->v + out->n;
		stream->avail_out = out->cap - out->n;
		lzma_ret r = lzma_code(stream, LZMA_FINISH);
		out->n = out->cap - stream->avail_out;
		if (r == LZMA_STREAM_END)
			return 0;
		if (r != LZMA_OK)
			return r == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
		if (out->n > OUTPUT_MAX)
			return -EFBIG;
	}
}

static int decompress(struct span in, byte_vec *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&stream, DECODER_MEMORY, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = in.data;
	stream.avail_in = in.size;
	int err = decode(&stream, out);
	lzma_end(&stream);
	return err;
}

int open_debugdata(struct object_file *object, struct object_file **ret)
{
	struct object_section *s = object_section(object, ".gnu_debugdata");
	byte_vec out = {0};
	*ret = NULL;
	int err = s ? section_load(s) : 0;
	if (!s || err)
		return err;
	err = decompress(s->data, &out);
	if (!err)
		err = object_open_memory(out.v, out.n, ".gnu_debugdata", ret, NULL);
	if (!err)
		(*ret)->owned = TAKE(out.v);
	free(out.v);
	return err;
}
