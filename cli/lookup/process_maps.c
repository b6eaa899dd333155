#include "cli/lookup/process_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "gsym/base/file_io.h"

enum { BEGINNING = 64 * 1024, ID_MAX = 64 }; /* bytes */

/* ---- Build ids ---- */

/* Appends the id of the notes. False if they have none. */
static bool append_note(Elf_Data *notes, struct text_buf *out)
{
	GElf_Nhdr note;
	size_t name, desc;
	for (size_t at = 0; notes && (at = gelf_getnote(notes, at, &note, &name, &desc));) {
		const uint8_t *bytes = (const uint8_t *)notes->d_buf + desc;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || !note.n_descsz ||
		    note.n_descsz > ID_MAX || memcmp((const char *)notes->d_buf + name, "GNU", 4) != 0)
			continue;
		text_lit(out, " (BuildId: ");
		for (size_t i = 0; i < note.n_descsz; i++)
			text_hex(out, bytes[i], 2);
		text_char(out, ')');
		return true;
	}
	return false;
}

/* The sections are at the end of the file, which is not there: libelf takes that for damage. */
static void drop_sections(char *image, size_t size)
{
	if (size >= sizeof(Elf64_Ehdr) && image[EI_CLASS] == ELFCLASS64) {
		Elf64_Ehdr *header = (Elf64_Ehdr *)image;
		header->e_shoff = 0;
		header->e_shnum = header->e_shstrndx = 0;
	} else if (size >= sizeof(Elf32_Ehdr)) {
		Elf32_Ehdr *header = (Elf32_Ehdr *)image;
		header->e_shoff = 0;
		header->e_shnum = header->e_shstrndx = 0;
	}
}

void mapped_id_append(int fd, uint64_t off, uint64_t size, struct text_buf *out)
{
	GElf_Phdr s;
	size_t n = 0;
	size = size < BEGINNING ? size : BEGINNING;
	char *image = malloc(BEGINNING);
	if (!image || size <= EI_CLASS || read_all(fd, image, size, (off_t)off)) {
		free(image);
		return;
	}
	drop_sections(image, size);
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory(image, size);
	bool found = !elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &n);
	for (size_t i = 0; !found && i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &s) || s.p_type != PT_NOTE || s.p_offset > size ||
		    s.p_filesz > size - s.p_offset)
			continue;
		Elf_Type type = s.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
		found = append_note(elf_getdata_rawchunk(elf, (int64_t)s.p_offset, s.p_filesz, type), out);
	}
	elf_end(elf);
	free(image);
}

/* ---- A process ---- */

/* A line of /proc/PID/maps that has a file. */
struct mapped_file {
	uint64_t start, end, offset, inode;
	unsigned major, minor;
	const char *path; /* in the line */
};

static bool parse_line(const char *line, struct mapped_file *ret)
{
	int at = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %n", &ret->start,
		   &ret->end, &ret->offset, &ret->major, &ret->minor, &ret->inode, &at) < 6)
		return false;
	ret->path = line + at;
	return at && *ret->path == '/';
}

/* Opens what is mapped: that itself, which takes a privilege, else what the path still leads to. */
static int open_mapped(const char *pid, const struct mapped_file *file)
{
	char path[PATH_MAX];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%s/map_files/%" PRIx64 "-%" PRIx64, pid, file->start, file->end);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 || snprintf(path, sizeof(path), "/proc/%s/root%s", pid, file->path) >= (int)sizeof(path))
		return fd;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == file->inode)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void append_id(const char *pid, const struct mapped_file *file, struct text_buf *out)
{
	struct stat st;
	int fd = open_mapped(pid, file);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		mapped_id_append(fd, 0, (uint64_t)st.st_size, out);
	close(fd);
}

int process_maps_read(const char *pid, struct text_buf *out)
{
	char path[PATH_MAX], last[PATH_MAX] = "", *line = NULL;
	struct mapped_file file;
	struct text_buf id = {0}; /* of the file in @last */
	size_t room = 0;
	ssize_t n;
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while ((n = getline(&line, &room, maps)) > 0) {
		size_t size = (size_t)n - (line[n - 1] == '\n');
		line[size] = 0;
		bool is_file = parse_line(line, &file) && strlen(file.path) < sizeof(last);
		if (is_file && strcmp(file.path, last) != 0) {
			strcpy(last, file.path);
			text_reset(&id);
			append_id(pid, &file, &id);
		}
		text_bytes(out, line, size);
		if (is_file)
			text_bytes(out, id.v, id.n);
		text_char(out, '\n');
	}
	int err = out->failed || id.failed ? -ENOMEM : ferror(maps) ? -EIO : 0;
	text_deinit(&id);
	free(line);
	fclose(maps);
	return err;
}
