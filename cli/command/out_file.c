#include "cli/command/out_file.h"

#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

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

/* Whether it is the name of a descriptor, which may be a link and is not to be replaced by a file. */
static bool names_descriptor(const char *path)
{
	static const char *const directories[] = {"/dev/fd/", "/proc/self/fd/"};
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		if (strncmp(path, directories[i], strlen(directories[i])) == 0)
			return !strchr(path + strlen(directories[i]), '/');
	return strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0;
}

/* A link is none, wherever it leads: in a directory from elsewhere that may be a disk. */
static bool is_special(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode);
}

int out_file_open(const char *path, struct out_file *ret, struct gsym_diag *diag)
{
	*ret = (struct out_file){.path = path, .fd = -1};
	bool in_place = names_descriptor(path) || is_special(path);
	int err = in_place ? open_in_place(ret, diag) : open_temp(ret, diag);
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
