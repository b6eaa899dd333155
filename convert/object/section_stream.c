/*
 * section_stream.c - zlib's format by ISA-L, which keeps the window of 32 KiB itself and is as fast as
 * libdeflate, but can stop anywhere. Steps have a fixed size, so that the outcome does not depend on the
 * number of threads.
 */
#include "convert/object/section_stream.h"

#include "gsym/base/invariant.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

struct section_stream {
	const struct object_file *object;
	struct object_section *section;
	uint64_t fed, released; /* compressed bytes given to ISA-L, and given back to the system */
	uint64_t done;          /* bytes inflated */
#ifdef HAVE_ISAL
	struct inflate_state state;
#endif
};

#ifdef HAVE_ISAL

enum {
	STEP = 256 << 10,         /* bytes inflated at a time: they are read while they are in the cache */
	INPUT_STEP = 1 << 30,     /* ISA-L counts input by 32 bits */
	INPUT_RELEASED = 4 << 20, /* compressed bytes used between two calls of object_release() */
};

int section_stream_open(const struct object_file *object, struct object_section *section,
			struct section_stream **ret)
{
	*ret = NULL;
	if (section->data.data || section->compression != COMPRESSION_ZLIB || !section->full_size)
		return 0;
	struct section_stream *s = calloc(1, sizeof(*s));
	int err = s ? section_reserve(section) : -ENOMEM;
	if (err) {
		free(s);
		return err;
	}
	s->object = object;
	s->section = section;
	isal_inflate_init(&s->state);
	s->state.crc_flag = ISAL_ZLIB;
	*ret = s;
	return 0;
}

void section_stream_close(struct section_stream *stream)
{
	free(stream);
}

/* Gives ISA-L the next compressed bytes if it has none, and those that it used back to the system. */
static void feed(struct section_stream *s)
{
	const struct span raw = s->section->raw;
	uint64_t used = s->fed - s->state.avail_in, left = raw.size - s->fed;
	if (used - s->released >= INPUT_RELEASED) {
		object_release(s->object, raw, s->released, used);
		s->released = used;
	}
	if (s->state.avail_in || !left)
		return;
	s->state.next_in = (uint8_t *)(uintptr_t)raw.data + s->fed;
	s->state.avail_in = (uint32_t)(left < INPUT_STEP ? left : INPUT_STEP);
	s->fed += s->state.avail_in;
}

/* Inflates up to @size bytes to @out; gives their number, which is less at the end, or -EBADMSG. */
static int64_t inflate_to(struct section_stream *s, uint8_t *out, uint32_t size)
{
	s->state.next_out = out;
	s->state.avail_out = size;
	while (s->state.block_state != ISAL_BLOCK_FINISH) {
		uint32_t left = s->state.avail_out;
		feed(s);
		bool starved = !s->state.avail_in;
		if (isal_inflate(&s->state) != ISAL_DECOMP_OK)
			return -EBADMSG;
		if (!s->state.avail_out || (starved && s->state.avail_out == left))
			break;
	}
	return size - s->state.avail_out;
}

/* Whether the compressed bytes end where the section does; ISA-L has compared the checksum then. */
static bool ends(struct section_stream *s)
{
	uint8_t beyond;
	return s->state.block_state == ISAL_BLOCK_FINISH ||
	       (!inflate_to(s, &beyond, 1) && s->state.block_state == ISAL_BLOCK_FINISH);
}

int section_stream_step(struct section_stream *stream, uint64_t *ret)
{
	const struct span data = stream->section->data;
	uint64_t left = data.size - stream->done;
	uint32_t size = (uint32_t)(left < STEP ? left : STEP);
	int64_t n = inflate_to(stream, (uint8_t *)(uintptr_t)data.data + stream->done, size);
	if (n != size)
		return -EBADMSG;
	stream->done += size;
	if (stream->done == data.size && !ends(stream))
		return -EBADMSG;
	*ret = stream->done;
	return 0;
}

#else /* no library that inflates in steps */

int section_stream_open(const struct object_file *object, struct object_section *section,
			struct section_stream **ret)
{
	(void)object;
	(void)section;
	*ret = NULL;
	return 0;
}

void section_stream_close(struct section_stream *stream)
{
	invariant(!stream);
}

int section_stream_step(struct section_stream *stream, uint64_t *ret)
{
	*ret = stream->section->data.size;
	return 0;
}

#endif

void section_stream_release(const struct section_stream *stream, uint64_t from, uint64_t to)
{
	const struct span data = stream->section->data;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)data.data + from + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)data.data + to) & ~(page - 1);
	invariant(from <= to && to <= data.size);
	if (first < end)
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
}
