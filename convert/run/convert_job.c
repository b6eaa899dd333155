#include "convert/run/convert_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "convert/os/beneath.h"
#include "gsym/base/diag.h"

static int open_input(const char *root, const char *path)
{
	const int flags = O_RDONLY | O_NOCTTY | O_NONBLOCK;
	int dir = open(root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	int fd = open_beneath(dir, root ? path : path + strspn(path, "/"), flags);
	close(dir);
	return fd;
}

bool job_input_is_unchanged(const struct convert_job *job)
{
	const struct convert_request *request = job->request;
	return file_state_is(job->input, &request->source.state) &&
	       (!request->binary.path || file_state_is(job->binary, &request->binary.state));
}

static int prepare_file(struct convert_job *job, const struct convert_input *input, int *ret_fd)
{
	struct outcome *out = job->out;
	int fd = *ret_fd = open_input(job->converter->root, input->path);
	if (fd < 0 && fd != -ENOENT && fd != -ELOOP && fd != -ENOTDIR) {
		diag_set(&out->diag, fd, "'%s': cannot open: %s", input->path, strerror(-fd));
		job_fail(out, VERDICT_TRANSIENT, -EIO);
		return -EIO;
	}
	if (fd >= 0 && file_state_is(fd, &input->state))
		return 0;
	diag_set(&out->diag, -ESTALE, "'%s' changed since it was scanned", input->path);
	job_fail(out, VERDICT_REPLACED, -ESTALE);
	return -ESTALE;
}

int job_prepare(struct convert_job *job)
{
	struct outcome *out = job->out;
	int err = prepare_file(job, &job->request->source, &job->input);
	if (!err && job->request->binary.path)
		err = prepare_file(job, &job->request->binary, &job->binary);
	if (err)
		return err;
	err = cache_temp_open(job->converter->cache, &job->temp, &out->diag);
	if (err)
		job_fail(out, VERDICT_TRANSIENT, err == -ENOSPC || err == -EDQUOT ? -ENOSPC : -EIO);
	return err;
}

void job_close(struct convert_job *job)
{
	cache_temp_close(job->converter->cache, &job->temp);
	text_deinit(&job->notes);
	text_deinit(&job->inputs);
	if (job->input >= 0)
		close(job->input);
	if (job->binary >= 0)
		close(job->binary);
}
