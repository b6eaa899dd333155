#include "cli/lookup/core_maps.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"

enum {
	NOTES_SIZE_MAX = 64 << 20, /* bytes of notes that are read, of all segments */
	SEGMENTS_MAX = 65536,
	NOTE_FILE = 0x46494c45, /* NT_FILE */
};

struct segment {
	uint64_t type, flags, off, addr, file_size, size;
};

struct core {
	int fd;
	bool big, wide;
	VEC(struct segment) notes, loads; /* PT_NOTE; PT_LOAD, by address */
};

static struct cursor cursor_of(const struct core *core, const void *bytes, size_t size)
{
	return cursor_new(bytes, size, core->big);
}

static uint64_t word(const struct core *core, struct cursor *c)
{
	return cursor_uint(c, core->wide ? 8 : 4);
}

static struct segment parse_segment(const struct core *core, struct cursor *c)
{
	struct segment s = {.type = cursor_u32(c)};
	if (core->wide)
		s.flags = cursor_u32(c);
	s.off = word(core, c);
	s.addr = word(core, c);
	word(core, c);
	s.file_size = word(core, c);
	s.size = word(core, c);
	if (!core->wide)
		s.flags = cursor_u32(c);
	word(core, c);
	return s;
}

static int add_segment(struct core *core, struct segment s)
{
	if (s.type == PT_NOTE)
		return vec_push(&core->notes, s);
	return s.type == PT_LOAD ? vec_push(&core->loads, s) : 0;
}

static int by_address(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int read_segments(struct core *core, uint64_t off, size_t n)
{
	size_t size = core->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	uint8_t *bytes = n <= SEGMENTS_MAX ? malloc(n * size + 1) : NULL;
	if (!bytes)
		return -ENOMEM;
	int err = read_all(core->fd, bytes, n * size, (off_t)off);
	struct cursor c = cursor_of(core, bytes, n * size);
	for (size_t i = 0; !err && i < n; i++)
		err = add_segment(core, parse_segment(core, &c));
	free(bytes);
	if (core->loads.n)
		qsort(core->loads.v, core->loads.n, sizeof(*core->loads.v), by_address);
	return err;
}

static int read_header(struct core *core)
{
	uint8_t bytes[sizeof(Elf64_Ehdr)] = {0};
	int err = read_all(core->fd, bytes, sizeof(Elf32_Ehdr), 0);
	if (err)
		return err;
	if (memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return -EBADMSG;
	core->wide = bytes[EI_CLASS] == ELFCLASS64;
	core->big = bytes[EI_DATA] == ELFDATA2MSB;
	err = core->wide ? read_all(core->fd, bytes, sizeof(bytes), 0) : 0;
	struct cursor c = cursor_of(core, bytes, sizeof(bytes));
	cursor_skip(&c, EI_NIDENT);
	if (cursor_u16(&c) != ET_CORE)
		err = err ? err : -EBADMSG;
	cursor_skip(&c, 2 + 4 + (core->wide ? 8 : 4));
	uint64_t off = word(core, &c);
	cursor_skip(&c, (core->wide ? 8 : 4) + 4 + 2 + 2);
	size_t n = cursor_u16(&c);
	return err ? err : read_segments(core, off, n);
}

/* Code is often left out of core files, as it is in the mapped file. */
static bool may_execute(const struct core *core, uint64_t address)
{
	size_t from = 0, to = core->loads.n; /* of those, all before @from begin at or below the address */
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (core->loads.v[middle].addr <= address)
			from = middle + 1;
		else
			to = middle;
	}
	const struct segment *s = from ? &core->loads.v[from - 1] : NULL;
	return !s || address - s->addr >= s->size || (s->flags & PF_X);
}

/* The next file name; false at the end. */
static bool next_name(struct cursor *names, const char **ret, size_t *ret_size)
{
	size_t left = cursor_left(names);
	const char *from = (const char *)cursor_take(names, 0);
	const char *end = left ? memchr(from, 0, left) : NULL;
	if (!end)
		return false;
	*ret = from;
	*ret_size = (size_t)(end - from);
	cursor_skip(names, *ret_size + 1);
	return true;
}

/* Appends a line for each file of the note. */
static int write_files(const struct core *core, struct cursor c, struct text_buf *out)
{
	uint64_t count = word(core, &c), page = word(core, &c);
	const char *name;
	size_t size;
	if (!cursor_can_hold(&c, count, core->wide ? 24 : 12))
		return -EBADMSG;
	struct cursor names = c;
	cursor_skip(&names, count * (core->wide ? 24 : 12));
	for (uint64_t i = 0; i < count && next_name(&names, &name, &size); i++) {
		uint64_t start = word(core, &c), end = word(core, &c), off = word(core, &c) * page;
		char line[128];
		snprintf(line, sizeof(line), "%" PRIx64 "-%" PRIx64 " r-%cp %" PRIx64 " 00:00 0 ", start, end,
			 may_execute(core, start) ? 'x' : '-', off);
		text_str(out, line);
		for (size_t k = 0; k < size; k++)
			text_char(out, name[k] == '\n' ? '?' : name[k]);
		text_char(out, '\n');
	}
	return out->failed ? -ENOMEM : 0;
}

static int write_notes(const struct core *core, const uint8_t *bytes, size_t size, struct text_buf *out)
{
	struct cursor c = cursor_of(core, bytes, size);
	while (cursor_left(&c) >= 12) {
		uint64_t name = cursor_u32(&c), data = cursor_u32(&c), type = cursor_u32(&c);
		cursor_skip(&c, (name + 3) & ~(uint64_t)3);
		const uint8_t *from = cursor_take(&c, data);
		if (!from)
			return -EBADMSG;
		if (type == NOTE_FILE)
			return write_files(core, cursor_of(core, from, data), out);
		cursor_skip(&c, -data & 3);
	}
	return -ENOENT;
}

static int read_notes(const struct core *core, const struct segment *s, struct text_buf *out)
{
	uint8_t *bytes = malloc(s->file_size + 1);
	int err = bytes ? read_all(core->fd, bytes, s->file_size, (off_t)s->off) : -ENOMEM;
	if (!err)
		err = write_notes(core, bytes, s->file_size, out);
	free(bytes);
	return err;
}

int core_maps_read(const char *path, struct text_buf *out, struct gsym_diag *diag)
{
	struct core core = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (core.fd < 0)
		return -errno;
	int err = read_header(&core);
	if (err == -EBADMSG)
		diag_set(diag, err, "not an ELF core file, or truncated");
	bool found = false;
	uint64_t left = NOTES_SIZE_MAX;
	for (size_t i = 0; !err && !found && i < core.notes.n; i++) {
		const struct segment *s = &core.notes.v[i];
		err = s->file_size > left ? -EFBIG : read_notes(&core, s, out);
		left -= err == -EFBIG ? 0 : s->file_size;
		found = !err;
		err = err == -ENOENT ? 0 : err;
	}
	if (!err && !found)
		err = diag_set(diag, -ENOENT,
			       "the core file does not list the files that were mapped (NT_FILE)");
	vec_free(&core.notes);
	vec_free(&core.loads);
	close(core.fd);
	return err;
}
