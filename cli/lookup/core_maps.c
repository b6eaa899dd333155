/* Headers and segments through libelf; the contents of notes are as the kernel writes them. */
#include "cli/lookup/core_maps.h"
#include "cli/lookup/process_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "gsym/base/search.h"
#include "gsym/base/vec.h"

enum {
	NOTES_SIZE_MAX = 64 << 20, /* bytes of notes that are read, of all segments */
	NOTE_FILE = 0x46494c45,    /* NT_FILE */
};

struct core {
	int fd;
	Elf *elf;
	bool big;
	unsigned word_size;          /* bytes */
	VEC(GElf_Phdr) notes, loads; /* PT_NOTE; PT_LOAD, by address */
};

/* Why libelf has failed. It is not for lack of memory, if that did not set errno. */
static int elf_error(void)
{
	return errno == ENOMEM ? -ENOMEM : -EBADMSG;
}

static int by_address(const void *a, const void *b)
{
	const GElf_Phdr *x = a, *y = b;
	return COMPARE(x->p_vaddr, y->p_vaddr);
}

static int read_segments(struct core *core, size_t n)
{
	GElf_Phdr s;
	int err = 0;
	for (size_t i = 0; !err && i < n; i++) {
		if (!gelf_getphdr(core->elf, (int)i, &s))
			return elf_error();
		if (s.p_type == PT_NOTE)
			err = vec_push(&core->notes, s);
		else if (s.p_type == PT_LOAD)
			err = vec_push(&core->loads, s);
	}
	if (core->loads.n)
		qsort(core->loads.v, core->loads.n, sizeof(*core->loads.v), by_address);
	return err;
}

static int read_headers(struct core *core)
{
	char magic[SELFMAG];
	GElf_Ehdr header;
	size_t n = 0;
	int err = read_all(core->fd, magic, sizeof(magic), 0);
	if (err)
		return err;
	errno = 0;
	elf_version(EV_CURRENT);
	core->elf = elf_begin(core->fd, ELF_C_READ, NULL);
	if (!core->elf || elf_kind(core->elf) != ELF_K_ELF || !gelf_getehdr(core->elf, &header) ||
	    header.e_type != ET_CORE || (header.e_phnum && elf_getphdrnum(core->elf, &n)))
		return elf_error();
	core->big = header.e_ident[EI_DATA] == ELFDATA2MSB;
	core->word_size = header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	/* libelf leaves out those that a truncated file lacks. */
	return n < header.e_phnum && header.e_phnum != PN_XNUM ? -EBADMSG : read_segments(core, n);
}

/* Code is often left out of core files, as it is in the mapped file. */
static bool may_execute(const struct core *core, uint64_t address)
{
	size_t after = PARTITION_POINT(0, core->loads.n, mid, core->loads.v[mid].p_vaddr <= address);
	const GElf_Phdr *s = after ? &core->loads.v[after - 1] : NULL;
	return !s || address - s->p_vaddr >= s->p_memsz || (s->p_flags & PF_X);
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

/* Appends the id of the file that is mapped from its beginning at @start, if that was saved. */
static void write_id(const struct core *core, uint64_t start, struct text_buf *out)
{
	size_t after = PARTITION_POINT(0, core->loads.n, mid, core->loads.v[mid].p_vaddr <= start);
	const GElf_Phdr *s = after ? &core->loads.v[after - 1] : NULL;
	if (s && start - s->p_vaddr < s->p_filesz)
		mapped_id_append(core->fd, s->p_offset + (start - s->p_vaddr),
				 s->p_filesz - (start - s->p_vaddr), out);
}

/* Appends a line for each file of the note. */
static int write_files(const struct core *core, const uint8_t *bytes, size_t n, struct text_buf *out)
{
	struct cursor c = cursor_new(bytes, n, core->big);
	uint64_t count = cursor_uint(&c, core->word_size), page = cursor_uint(&c, core->word_size);
	const char *name, *last = NULL; /* @id is that of the latter */
	size_t size, last_size = 0;
	struct text_buf id = {0};
	if (!cursor_can_hold(&c, count, 3 * core->word_size))
		return -EBADMSG;
	struct cursor names = c;
	cursor_skip(&names, count * (3 * core->word_size));
	for (uint64_t i = 0; i < count && next_name(&names, &name, &size); i++) {
		uint64_t start = cursor_uint(&c, core->word_size), end = cursor_uint(&c, core->word_size),
			 off = cursor_uint(&c, core->word_size) * page;
		char line[128];
		snprintf(line, sizeof(line), "%" PRIx64 "-%" PRIx64 " r-%cp %" PRIx64 " 00:00 0 ", start, end,
			 may_execute(core, start) ? 'x' : '-', off);
		text_str(out, line);
		for (size_t k = 0; k < size; k++)
			text_char(out, name[k] == '\n' ? '?' : name[k]);
		if (!off || !last || size != last_size || memcmp(name, last, size) != 0)
			text_reset(&id);
		if (!off)
			write_id(core, start, &id);
		last = name;
		last_size = size;
		text_bytes(out, id.v, id.n);
		text_char(out, '\n');
	}
	bool failed = out->failed || id.failed;
	text_deinit(&id);
	return failed ? -ENOMEM : 0;
}

/* Appends the list of files, or -ENOENT. The last of the notes may lack its padding. */
static int write_notes(const struct core *core, const GElf_Phdr *segment, struct text_buf *out)
{
	Elf_Data *notes =
		elf_getdata_rawchunk(core->elf, (int64_t)segment->p_offset, segment->p_filesz, ELF_T_BYTE);
	if (!notes)
		return elf_error();
	struct cursor c = cursor_new(notes->d_buf, notes->d_size, core->big);
	while (cursor_left(&c) >= 12) {
		uint64_t name = cursor_u32(&c), size = cursor_u32(&c), type = cursor_u32(&c);
		cursor_skip(&c, (name + 3) & ~(uint64_t)3);
		const uint8_t *data = cursor_take(&c, size);
		if (!data)
			return -EBADMSG;
		if (type == NOTE_FILE)
			return write_files(core, data, size, out);
		cursor_skip(&c, -size & 3);
	}
	return -ENOENT;
}

int core_maps_read(const char *path, struct text_buf *out, struct gsym_diag *diag)
{
	struct core core = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (core.fd < 0)
		return -errno;
	int err = read_headers(&core);
	if (err == -EBADMSG)
		diag_set(diag, err, "not an ELF core file, or truncated");
	bool found = false;
	uint64_t left = NOTES_SIZE_MAX;
	for (size_t i = 0; !err && !found && i < core.notes.n; i++) {
		uint64_t size = core.notes.v[i].p_filesz;
		err = size > left ? -EFBIG : size ? write_notes(&core, &core.notes.v[i], out) : -ENOENT;
		left -= err == -EFBIG ? 0 : size;
		found = !err;
		err = err == -ENOENT ? 0 : err;
	}
	if (!err && !found)
		err = diag_set(diag, -ENOENT,
			       "the core file does not list the files that were mapped (NT_FILE)");
	vec_free(&core.notes);
	vec_free(&core.loads);
	elf_end(core.elf);
	close(core.fd);
	return err;
}
