#include "work/run/job_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "work/cache/image_id.h"
#include "work/cache/notes.h"
#include "work/types/packed_name.h"
#include "work/run/inputs.h"

enum { FETCHES_MAX = 2 /* of one conversion: the debug file, and what it shares with others */ };

static void note_used(struct convert_job *job, const struct neighbour *file)
{
	char path[WORKER_PATH_MAX + PACKED_ENDING_SIZE];
	snprintf(path, sizeof(path), "%s%s", file->path, file->ending);
	note_neighbour(&job->notes, job->uses++, path);
}

/*
 * Sends @fd, which is closed, if it is not negative. A dead worker is noticed when its next message is
 * awaited; one that lives would wait for ever for an answer that could not be sent.
 */
static int reply(const struct child *child, struct worker_opened *answer, int fd)
{
	int err = worker_send(child->sock, &answer->head, WORKER_OPENED, fd);
	if (fd >= 0)
		close(fd);
	return child_has_gone(err) ? 0 : err;
}

/* One request at a time: the reply does not block. */
int job_open_neighbour(struct convert_job *job, const struct child *child, const struct worker_open *m)
{
	struct neighbour file;
	job->asked = true;
	int fd = neighbour_open(&job->converter->search, &job->request->source.state, m->path, &file);
	bool seen = fd >= 0 || fd == -EPERM, outside = fd == -EXDEV;
	/* A path outside the search path can never be found: no input. */
	if (!outside && !inputs_add(&job->inputs, m->path, seen ? &file : NULL) && fd >= 0) {
		close(fd);
		fd = -ENOENT; /* for this conversion, each time it is made */
	}
	if (fd >= 0)
		note_used(job, &file);
	struct worker_opened answer = {.head.serial = m->head.serial, .error = fd < 0 ? -fd : 0};
	return reply(child, &answer, fd);
}

static void note_fetched(struct convert_job *job, const struct worker_fetch *m, const struct fetched *file)
{
	bool found = file->fd >= 0;
	note_fetch(&job->notes, m->id, m->id_size, found ? 0 : file->fd);
	if (found) {
		note_neighbour(&job->notes, job->uses++, file->path);
		job->fetched = true;
		return;
	}
	if (fetch_failed(file->fd))
		job->fetch_failure = file->fd;
	job->again = file->again;
}

/* Whether it is the object file itself that is requested, which came from servers. */
static bool is_fetched_source(const struct convert_request *request, const struct worker_fetch *m)
{
	uint8_t id[IMAGE_ID_MAX];
	return request->source.fetched && id_parse(request->id, id) == m->id_size &&
	       !memcmp(id, m->id, m->id_size);
}

/* The worker chooses the id, so the number is limited. */
int job_fetch(struct convert_job *job, const struct child *child, const struct worker_fetch *m)
{
	struct fetched file = {.fd = -EPERM};
	int64_t start = monotonic_ms();
	job->asked = true;
	if (is_fetched_source(job->request, m)) {
		file.fd = -ENOENT;
	} else if (job->converter->search.servers && job->fetches++ < FETCHES_MAX) {
		fetcher_get(job->converter->fetcher, m->id, m->id_size, 0, &file);
		if (file.fd == -ECANCELED)
			return file.fd;
		note_fetched(job, m, &file);
	}
	job->waited_ms += monotonic_ms() - start;
	struct worker_opened answer = {.head.serial = m->head.serial, .error = file.fd < 0 ? -file.fd : 0};
	return reply(child, &answer, file.fd);
}
