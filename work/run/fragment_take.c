#include "work/run/fragment_take.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work/cache/notes.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"

int fragment_file_new(void)
{
	int fd = memfd_create("fragment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, FRAGMENT_SIZE_MAX) && !fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	int err = -errno;
	close(fd);
	return err;
}

/* Appends what makes @fd a file as the cache has them. */
static int complete(int fd, const char *key, const struct worker_fragment *m)
{
	const struct span none = {0};
	struct text_buf notes = {0};
	note_image_base(&notes, m->image_base);
	if (m->has_ada)
		note_ada(&notes);
	for (uint32_t i = 0; i < m->n_segments; i++) {
		const struct worker_map *s = &m->segments[i];
		note_segment(&notes,
			     &(struct worker_segment){.off = s->off, .addr = s->addr, .size = s->size});
	}
	int err = notes.failed ? -ENOMEM : trailer_write(fd, key, m->output_size, text_span(&notes), none);
	text_deinit(&notes);
	return err;
}

static int open_copy(int from, int fd, const struct worker_fragment *m, const char *key, struct handle **ret)
{
	int err = copy_all(from, fd, m->output_size);
	if (!err)
		err = complete(fd, key, m);
	if (!err)
		err = handle_open(fd, key, ret, NULL);
	return err == -EBADMSG ? -EPROTO : err;
}

int fragment_take(int from, const struct worker_fragment *m, const char *key, struct handle **ret)
{
	if (m->output_size > FRAGMENT_SIZE_MAX)
		return -EFBIG;
	int fd = memfd_create("fragment", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int err = open_copy(from, fd, m, key, ret);
	close(fd);
	return err;
}
