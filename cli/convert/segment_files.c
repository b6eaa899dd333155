#include "cli/convert/segment_files.h"

#include "gsym/base/diag.h"
#include "cli/command/out_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
static int put_in_place(struct segment_file *file, struct gsym_diag *diag)
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

static void restore(struct segment_file *file)
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
		int err = put_in_place(&s->files.v[i], diag);
		if (err) {
			while (i-- > 0)
				restore(&s->files.v[i]);
			return err;
		}
	}
	return 0;
}
