#include "work/run/convert_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "gsym/base/diag.h"
#include "gsym/base/fault.h"
#include "gsym/base/file_io.h"
#include "work/cache/notes.h"
#include "work/cache/publish.h"
#include "work/os/beneath.h"

static int open_input(const char *root, const char *path)
{
	const int flags = O_RDONLY | O_NOCTTY | O_NONBLOCK;
	bool below = root && *path != '/';
	int dir = open(below && *root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return system_error(errno);
	int fd = open_beneath(dir, path + strspn(path, "/"), flags);
	close(dir);
	return fd;
}

int job_check_input(const struct convert_job *job)
{
	const struct convert_request *request = job->request;
	int err = file_state_check(job->input, &request->source.state);
	if (!err && request->binary.path)
		err = file_state_check(job->binary, &request->binary.state);
	return err;
}

void job_fail_for_room(struct convert_job *job)
{
	job->no_room = !job->in_memory;
	job_fail(job->out, VERDICT_FAILED, -ENOSPC);
	job->out->again = time(NULL) + CACHE_RETRY_SECONDS;
}

static int prepare_file(struct convert_job *job, const struct convert_input *input, int *ret_fd)
{
	struct outcome *out = job->out;
	int fd = *ret_fd = open_input(job->converter->root, input->path);
	int err = fd < 0 ? fd : file_state_check(fd, &input->state);
	if (!err)
		return 0;
	if (err != -ESTALE && fault_of(err) != FAULT_ABSENT) {
		diag_set(&out->diag, err, "%s: cannot %s: %s", input->path, fd < 0 ? "open" : "stat",
			 strerror(-err));
		job_fail(out, VERDICT_TRANSIENT, -EIO);
		return -EIO;
	}
	diag_set(&out->diag, -ESTALE, "%s: changed since it was scanned", input->path);
	job_fail(out, VERDICT_REPLACED, -ESTALE);
	return -ESTALE;
}

static int open_output(struct convert_job *job)
{
	struct cache *cache = job->converter->cache;
	struct gsym_diag *diag = &job->out->diag;
	int err = 0;
	job->in_memory |= cache_is_full(cache);
	if (!job->in_memory) {
		err = cache_temp_open(cache, &job->temp, diag);
		job->in_memory = cache_error_is_full(err);
		if (job->in_memory)
			cache_note_full(cache, err);
	}
	if (job->in_memory)
		err = cache_temp_open_memory(cache, job->request->key, &job->temp, diag);
	if (err == -ENOSPC)
		job_fail_for_room(job);
	else if (err)
		job_fail(job->out, VERDICT_TRANSIENT, -EIO);
	return err;
}

/* In memory: it is read once, by this process. */
static int open_fragment(struct convert_job *job)
{
	struct outcome *out = job->out;
	job->fragment = fragment_file_new();
	if (job->fragment >= 0)
		return 0;
	int err = diag_set(&out->diag, job->fragment, "cannot make a file in memory: %s",
			   strerror(-job->fragment));
	job_fail(out, VERDICT_TRANSIENT, -EIO);
	return err;
}

int job_open_files(struct convert_job *job)
{
	int err = prepare_file(job, &job->request->source, &job->input);
	return !err && job->request->binary.path ? prepare_file(job, &job->request->binary, &job->binary)
						 : err;
}

int job_prepare_fragments(struct convert_job *job)
{
	int err = job_open_files(job);
	return err ? err : open_fragment(job);
}

int job_prepare(struct convert_job *job)
{
	int err = job_prepare_fragments(job);
	return err ? err : open_output(job);
}

int job_take_fragment(const struct convert_job *job, const struct worker_fragment *m, struct handle **ret)
{
	*ret = NULL;
	if (!m->output_size)
		return 0;
	int err = job_check_input(job);
	return err ? err : fragment_take(job->fragment, m, job->request->key->text, ret);
}

void job_close(struct convert_job *job)
{
	cache_temp_close(job->converter->cache, &job->temp);
	if (job->fragment >= 0)
		close(job->fragment);
	text_deinit(&job->notes);
	text_deinit(&job->inputs);
	if (job->input >= 0)
		close(job->input);
	if (job->binary >= 0)
		close(job->binary);
}

/* ---- Fragments ---- */

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
static int append_trailer(int fd, const char *key, const struct worker_fragment *m)
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
		err = append_trailer(fd, key, m);
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
