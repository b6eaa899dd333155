/* A section inflated in steps, whose pages are given back as it is read. */
#include "convert/object/object_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "tests/lib/unit.h"

enum {
	SIZE = (40 << 20) + 12344, /* of the section: many huge pages, and a part of one */
	LAG = 1 << 20,             /* bytes that are still read after others were inflated */
	RESIDENT_MAX = 10 << 20,   /* LAG, a step, and some huge pages that are not complete yet */
};

/* A compressed section in a file that is mapped. */
struct packed {
	struct object_file object;
	struct object_section section;
};

/* The number at byte @off, which differs from that of any other place. */
static uint64_t number_at(uint64_t off)
{
	uint64_t n = off / sizeof(uint64_t);
	return n << 32 | (uint32_t)(n * 2654435761u) >> 12;
}

static int setup(void **state)
{
	static struct packed p;
	char path[] = "/tmp/check-section-stream-XXXXXX";
	size_t most = ZSTD_compressBound(SIZE);
	uint64_t *plain = malloc(SIZE);
	void *bytes = malloc(most);
	if (!plain || !bytes)
		return -1;
	for (size_t i = 0; i < SIZE / sizeof(*plain); i++)
		store64(&plain[i], number_at(i * sizeof(*plain)), false);
	size_t size = ZSTD_compress(bytes, most, plain, SIZE, 1);
	int fd = mkstemp(path);
	if (fd < 0 || unlink(path) || write(fd, bytes, size) != (ssize_t)size)
		return -1;
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	free(plain);
	free(bytes);
	p.object = (struct object_file){.file = {map, size}, .mapped = true};
	p.section = (struct object_section){.name = ".debug_info",
					    .compression = COMPRESSION_ZSTD,
					    .raw = {map, size},
					    .full_size = SIZE};
	*state = &p;
	return map == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state)
{
	struct packed *p = *state;
	section_unload(&p->section);
	return munmap((void *)(uintptr_t)p->object.file.data, p->object.file.size);
}

/* Bytes of @s that have pages of this process, of whichever mappings. */
static uint64_t resident(struct span s)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t from = (uintptr_t)s.data / page * page, to = (uintptr_t)s.data + s.size, size = 0;
	unsigned long first = 0, end = 0, kilobytes;
	char line[512];
	FILE *f = fopen("/proc/self/smaps", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &first, &end) == 2)
			continue;
		if (first >= from && first < to && sscanf(line, "Rss: %lu kB", &kilobytes) == 1)
			size += kilobytes * 1024;
	}
	fclose(f);
	return size;
}

static void expect_numbers(struct span s, uint64_t from, uint64_t to)
{
	for (uint64_t off = from; off < to; off += sizeof(uint64_t))
		if (load64(s.data + off, false) != number_at(off))
			fail_msg("wrong number at %llu", (unsigned long long)off);
}

/* Pages that were given back come again for later bytes; what was not is as it was. */
TEST_OF(released_pages_are_used_again, struct packed, p)
{
	struct section_stream *stream;
	uint64_t ready = 0, kept = 0, most = 0;
	assert_int_equal(section_stream_open(&p->object, &p->section, &stream), 0);
	assert_non_null(stream);
	while (ready < SIZE) {
		assert_int_equal(section_stream_step(stream, &ready), 0);
		expect_numbers(p->section.data, kept, ready);
		kept = ready > LAG ? ready - LAG : 0;
		section_stream_release(stream, kept);
		section_stream_release(stream, kept / 2); /* another thread, which comes late */
		uint64_t now = resident(p->section.data);
		most = now > most ? now : most;
	}
	assert_in_range(most, LAG, RESIDENT_MAX);
	assert_in_range(resident(p->section.raw), 0, p->section.raw.size / 2);
	expect_numbers(p->section.data, kept, SIZE);
	section_stream_close(stream);
}

TEST_OF(nothing_moves_that_is_kept, struct packed, p)
{
	struct section_stream *stream;
	uint64_t ready = 0;
	assert_int_equal(section_stream_open(&p->object, &p->section, &stream), 0);
	while (ready < SIZE)
		assert_int_equal(section_stream_step(stream, &ready), 0);
	expect_numbers(p->section.data, 0, SIZE);
	assert_true(resident(p->section.data) >= SIZE);
	section_stream_close(stream);
	assert_in_range(resident(p->section.data), 0, LAG);
}

/* Damage at the end makes a step fail, and every one after it. */
TEST_OF(damage_is_final, struct packed, p)
{
	struct section_stream *stream;
	uint64_t ready = 0;
	int err = 0;
	p->section.raw.size -= 3;
	assert_int_equal(section_stream_open(&p->object, &p->section, &stream), 0);
	while (!err) {
		section_stream_release(stream, ready);
		err = section_stream_step(stream, &ready);
	}
	assert_int_equal(err, -EBADMSG);
	assert_true(ready < SIZE);
	assert_int_equal(section_stream_step(stream, &ready), -EBADMSG);
	section_stream_close(stream);
}

/* Pages of a file are given back, and come back when they are read. */
TEST_OF(released_file, struct packed, p)
{
	struct span raw = p->section.raw;
	uint32_t sum = 0, again = 0;
	for (size_t i = 0; i < raw.size; i++)
		sum += raw.data[i];
	assert_true(resident(raw) >= raw.size);
	object_release(&p->object, raw, 0, raw.size / 2);
	assert_in_range(resident(raw), raw.size / 4, raw.size / 4 * 3);
	object_release(&p->object, raw, 0, raw.size);
	assert_in_range(resident(raw), 0, 1 << 16);
	for (size_t i = 0; i < raw.size; i++)
		again += raw.data[i];
	assert_int_equal(sum, again);
}

EACH_TEST(setup, teardown)
