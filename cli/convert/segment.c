#include "cli/convert/segment.h"

#include "gsym/base/diag.h"
#include "gsym/write/layout.h"
#include "gsym/write/writer.h"
#include "gsym/write/copier.h"
#include "cli/command/out_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files ---- */

void segment_files_deinit(struct segment_files *s)
{
	for (size_t i = 0; i < s->files.n; i++) {
		struct segment_file *file = &s->files.v[i];
		if (file->temp)
			unlink(file->temp);
		free(file->temp);
		free(file->path);
	}
	vec_free(&s->files);
}

static int check_path(const char *path, const char *input, const struct out_file *out, struct gsym_diag *diag)
{
	if (!out->temp)
		return diag_set(diag, -EINVAL, "%s: not a regular file", path);
	if (out_file_replaces(input, path))
		return diag_set(diag, -EINVAL, "%s: output would replace the input", path);
	return 0;
}

/* Writes the whole file and closes it: network file systems may report errors at close(). */
static int write_and_close(struct out_file *out, struct gsym_writer *writer, uint64_t *ret_size,
			   struct gsym_diag *diag)
{
	struct stat st;
	int err = gsym_writer_finish(writer, out->fd, diag);
	if (err)
		return diag_prefix(diag, err, "%s", out->path);
	int fd = out->fd;
	out->fd = -1;
	err = fstat(fd, &st) ? -errno : 0;
	if (close(fd) && !err)
		err = -errno;
	*ret_size = (uint64_t)st.st_size;
	return err ? diag_set(diag, err, "%s: %s", out->path, strerror(-err)) : 0;
}

int segment_files_add(struct segment_files *s, const char *path, const char *input,
		      struct gsym_writer *writer, struct gsym_diag *diag)
{
	struct segment_file file = {.path = strdup(path)};
	struct out_file out;
	uint64_t size = 0;
	if (!file.path || vec_reserve(&s->files, 1)) {
		free(file.path);
		return diag_set(diag, -ENOMEM, "%s: out of memory", path);
	}
	int err = out_file_open(path, &out, diag);
	if (!err)
		err = check_path(path, input, &out, diag);
	if (!err)
		err = write_and_close(&out, writer, &size, diag);
	if (err) {
		out_file_discard(&out);
		free(file.path);
		return err;
	}
	file.temp = TAKE(out.temp);
	s->files.v[s->files.n++] = file;
	s->bytes += size;
	return 0;
}

char *segment_files_name(const struct segment_files *s)
{
	const char *first = s->files.v[0].path;
	char *name;
	if (s->files.n == 1)
		return strdup(first);
	return asprintf(&name, "%s and %zu more segments", first, s->files.n - 1) < 0 ? NULL : name;
}

/*
 * Gives the file its name. A file of that name takes the temporary one if the file system can exchange names.
 */
static int give_name(struct segment_file *file, struct gsym_diag *diag)
{
	if (renameat2(AT_FDCWD, file->temp, AT_FDCWD, file->path, RENAME_EXCHANGE) == 0) {
		file->placed = true;
		return 0;
	}
	if (rename(file->temp, file->path))
		return diag_set(diag, -errno, "%s: %s", file->path, strerror(errno));
	free(file->temp);
	file->temp = NULL;
	file->placed = true;
	return 0;
}

static void restore_file(struct segment_file *file)
{
	if (!file->placed)
		return;
	if (!file->temp) {
		unlink(file->path);
	} else if (rename(file->temp, file->path) == 0) {
		free(file->temp);
		file->temp = NULL;
	}
}

int segment_files_publish(struct segment_files *s, struct gsym_diag *diag)
{
	for (size_t i = 0; i < s->files.n; i++) {
		int err = give_name(&s->files.v[i], diag);
		if (err) {
			while (i-- > 0)
				restore_file(&s->files.v[i]);
			return err;
		}
	}
	return 0;
}

enum {
	NAME_SHOWN = 200, /* characters of a name in a message */
};

struct segmenter {
	const struct gsym_reader *reader;
	const struct segment_options *options;
	struct segment_files *files;
	struct copier copier;
	struct copier alone; /* for functions measured by themselves */
};

/*
 * Bytes of a segment as LLVM counts them, so that both cut at the same functions: header, tables and records,
 * but neither the number of files nor padding between the tables.
 */
static int measure(const struct gsym_writer *w, uint64_t *ret, struct gsym_diag *diag)
{
	struct layout l;
	int err = writer_layout(w, &l, diag);
	if (err)
		return err;
	uint64_t records = l.size[GlobalInfo_FunctionInfo];
	*ret = l.off[GlobalInfo_AddrOffsets] + l.size[GlobalInfo_AddrOffsets] +
	       l.size[GlobalInfo_AddrInfoOffsets] + l.size[GlobalInfo_FileTable] - sizeof(uint32_t) +
	       l.size[GlobalInfo_StringTable] +
	       ((records + RECORD_ALIGN - 1) & ~(uint64_t)(RECORD_ALIGN - 1));
	return 0;
}

/* Gives @copier an empty segment to fill. */
static int begin_segment(const struct segmenter *s, struct copier *copier, struct gsym_writer **ret,
			 struct gsym_diag *diag)
{
	struct gsym_writer_options to = copier_options(s->reader);
	if (s->options->version)
		to.version = s->options->version;
	int err = gsym_writer_new(&to, ret, diag);
	if (err)
		return err;
	err = copier_begin(copier, *ret);
	if (!err)
		return 0;
	gsym_writer_free(*ret);
	return diag_set(diag, err, "out of memory");
}

/* How large a segment with function @index and no other is. */
static int measure_alone(struct segmenter *s, uint32_t index, uint64_t *ret, struct gsym_diag *diag)
{
	struct gsym_writer *writer;
	struct gsym_func func;
	int err = begin_segment(s, &s->alone, &writer, diag);
	if (err)
		return err;
	err = copy_function(&s->alone, index, &func, diag);
	if (!err)
		err = measure(writer, ret, diag);
	gsym_writer_free(writer);
	return err;
}

/*
 * Whether a segment could be small enough with function @index, which was the last to be added to this one.
 */
static int check_fits(struct segmenter *s, uint32_t index, const struct gsym_func *func,
		      struct gsym_diag *diag)
{
	uint64_t size;
	int err = measure_alone(s, index, &size, diag);
	if (err || size <= s->options->size)
		return err;
	const char *name = gsym_reader_string(s->reader, func->name);
	return diag_set(diag, -EFBIG,
			"function %" PRIu32 ", \"%.*s\" at 0x%" PRIx64 ", needs a segment of %" PRIu64
			" bytes, but --segment-size is %" PRIu64,
			index, NAME_SHOWN, name ? name : "", func->start, size, s->options->size);
}

/* The address after its last byte; a function of unknown size has one byte. */
static uint64_t end_of(const struct gsym_func *func)
{
	uint64_t size = func->size ? func->size : 1;
	return size > UINT64_MAX - func->start ? UINT64_MAX : func->start + size;
}

/* Adds functions from @index on until the segment is complete. Gives the index of the next one. */
static int fill_segment(struct segmenter *s, const struct gsym_writer *writer, uint32_t *index,
			struct gsym_diag *diag)
{
	uint32_t n = gsym_reader_info(s->reader)->num_addresses;
	uint64_t size = 0, end = 0;
	struct gsym_func func;
	int err = 0;
	for (; *index < n; (*index)++) {
		if (size >= s->options->size && gsym_reader_address(s->reader, *index) >= end)
			return 0;
		err = copy_function(&s->copier, *index, &func, diag);
		if (!err)
			err = measure(writer, &size, diag);
		if (!err && size > s->options->size)
			err = check_fits(s, *index, &func, diag);
		if (err)
			return err;
		end = end_of(&func) > end ? end_of(&func) : end;
	}
	return 0;
}

static int write_segment(struct segmenter *s, uint64_t start, struct gsym_writer *writer,
			 struct gsym_diag *diag)
{
	CLEANUP(freep) char *path = NULL;
	if (asprintf(&path, "%s-0x%" PRIx64, s->options->path, start) < 0) {
		path = NULL;
		return diag_set(diag, -ENOMEM, "%s: out of memory", s->options->path);
	}
	return segment_files_add(s->files, path, s->options->input, writer, diag);
}

static int one_segment(struct segmenter *s, uint32_t *index, struct gsym_diag *diag)
{
	uint64_t start = gsym_reader_address(s->reader, *index);
	struct gsym_writer *writer;
	int err = begin_segment(s, &s->copier, &writer, diag);
	if (err)
		return err;
	err = fill_segment(s, writer, index, diag);
	if (!err)
		err = write_segment(s, start, writer, diag);
	gsym_writer_free(writer);
	return err;
}

int segment(const struct gsym_reader *reader, const struct segment_options *options,
	    struct segment_files *files, struct gsym_diag *diag)
{
	struct segmenter s = {.reader = reader, .options = options, .files = files};
	uint32_t n = gsym_reader_info(reader)->num_addresses, index = 0;
	int err = n ? 0 : diag_set(diag, -EINVAL, "address table: empty; no functions to write");
	if (!err && (copier_init(&s.copier, reader) || copier_init(&s.alone, reader)))
		err = diag_set(diag, -ENOMEM, "out of memory");
	while (!err && index < n)
		err = one_segment(&s, &index, diag);
	copier_deinit(&s.copier);
	copier_deinit(&s.alone);
	return err;
}
