#include "convert/cli/convert/out_file.h"

#include "gsym/base/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mode_t current_umask(void)
{
	mode_t mask = umask(0);
	umask(mask);
	return mask;
}

static int open_in_place(struct out_file *out, struct gsym_diag *diag)
{
	out->fd = open(out->path, O_RDWR | O_CLOEXEC);
	return out->fd < 0 ? diag_set(diag, -errno, "%s: %s", out->path, strerror(errno)) : 0;
}

static int open_temp(struct out_file *out, struct gsym_diag *diag)
{
	if (asprintf(&out->temp, "%s.XXXXXX", out->path) < 0) {
		out->temp = NULL;
		return -ENOMEM;
	}
	out->fd = mkostemp(out->temp, O_CLOEXEC);
	if (out->fd < 0) {
		int err = diag_set(diag, -errno, "%s: cannot create a temporary file for it: %s", out->path,
				   strerror(errno));
		free(out->temp);
		out->temp = NULL;
		return err;
	}
	/* mkostemp() creates files with mode 0600; the output has the mode of any new file. */
	if (fchmod(out->fd, 0666 & ~current_umask()))
		return diag_set(diag, -errno, "%s: %s", out->temp, strerror(errno));
	return 0;
}

/* Whether it is a link to a descriptor, as /dev/stdout is, which is not to be replaced by a file. */
static bool names_descriptor(const char *path)
{
	static const char proc[] = "/proc/";
	char to[sizeof(proc)];
	const size_t n = sizeof(proc) - 1;
	return readlink(path, to, n) == (ssize_t)n && memcmp(to, proc, n) == 0;
}

int out_file_open(const char *path, struct out_file *ret, struct gsym_diag *diag)
{
	struct stat st;
	*ret = (struct out_file){.path = path, .fd = -1};
	bool is_special = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
	int err = is_special || names_descriptor(path) ? open_in_place(ret, diag) : open_temp(ret, diag);
	if (err)
		out_file_discard(ret);
	return err;
}

int out_file_publish(struct out_file *out, struct gsym_diag *diag)
{
	int err = 0;
	int fd = out->fd;
	out->fd = -1;
	/* Network file systems and full disks may report errors at close(). */
	if (close(fd) || (out->temp && rename(out->temp, out->path)))
		err = diag_set(diag, -errno, "%s: %s", out->path, strerror(errno));
	if (!err && out->temp) {
		free(out->temp);
		out->temp = NULL;
	}
	out_file_discard(out);
	return err;
}

bool out_file_replaces(const char *input, const char *output)
{
	struct stat in, out;
	return stat(input, &in) == 0 && stat(output, &out) == 0 && in.st_dev == out.st_dev &&
	       in.st_ino == out.st_ino;
}

void out_file_discard(struct out_file *out)
{
	if (out->fd >= 0)
		close(out->fd);
	if (out->temp)
		unlink(out->temp);
	free(out->temp);
	out->temp = NULL;
	out->fd = -1;
}
