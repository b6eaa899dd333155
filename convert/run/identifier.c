#include "convert/run/identifier.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "gsym/base/diag.h"

enum {
	/*
	 * A file without an id is hashed as a whole; a disk slower than this counts as hung.
	 */
	LEAST_BYTES_PER_MS = 5000,
	LEAST_TIME_MS = 30000,
};

static int ensure_worker(struct identifier *id, struct gsym_diag *diag)
{
	const struct child_order order = {
		.program = id->worker,
		.mode = "scan",
		.fds = &id->source_fd,
		.n_fds = 1,
		.stop_fd = id->stop_fd,
	};
	return id->child.pid ? 0 : child_start(&order, &id->child, diag);
}

void identifier_stop(struct identifier *identifier)
{
	if (identifier->child.pid)
		child_finish(&identifier->child, NULL);
}

static int send_file(struct identifier *id, int fd)
{
	struct worker_identify m = {0};
	/* Unpredictable, so that a compromised worker cannot answer for later files in advance. */
	if (getrandom(&id->serial, sizeof(id->serial), 0) != sizeof(id->serial))
		return -EIO;
	m.head.serial = id->serial;
	return worker_send(id->child.sock, &m.head, WORKER_IDENTIFY, fd);
}

/* Whether an error is caused by the content of the file rather than by reading it. */
static bool is_content_error(int err)
{
	switch (err) {
	case -EIO:
	case -ENOMEM:
	case -EACCES:
	case -EPERM:
	case -ENOENT:
	case -ESTALE:
	case -EINTR:
	case -EAGAIN:
	case -EMFILE:
	case -ENFILE: return false;
	}
	return true;
}

static int take_identity(const struct worker_identity *m, struct image_identity *ret, struct gsym_diag *diag)
{
	if (m->error)
		return diag_set(diag, is_content_error(-m->error) ? -EBADMSG : -m->error, "%s", m->text);
	*ret = (struct image_identity){
		.kind = (enum image_kind)m->kind,
		.id_size = m->id_size,
		.id_is_hash = m->id_is_hash,
		.id_is_cut = m->id_is_cut,
		.has_dwarf = m->has_dwarf,
		.has_symtab = m->has_symtab,
		.has_text = m->has_text,
		.has_gsym = m->has_gsym,
	};
	memcpy(ret->id, m->id, m->id_size);
	snprintf(ret->arch, sizeof(ret->arch), "%s", m->arch);
	return 0;
}

/* Ends the worker after an error or its exit, and sets @diag. */
static int give_up_worker(struct identifier *id, int why, struct gsym_diag *diag)
{
	if (why != 0) /* else it has closed the socket itself */
		child_kill(&id->child);
	int status = child_finish(&id->child, NULL);
	if (why == -ECANCELED)
		return why;
	if (why == -ETIMEDOUT)
		return diag_set(diag, -EBADMSG, "timeout while identifying it");
	if (WIFSIGNALED(status) && why == 0)
		return diag_set(
			diag, WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM ? -EINTR : -EBADMSG,
			"the worker identifying it was killed by signal %d", WTERMSIG(status));
	return diag_set(diag, -EBADMSG, "the worker identifying it exited with status %d", status);
}

/* The answer: 1 with a message of this question, else as child_receive(). */
static int receive_answer(struct identifier *id, int64_t deadline, union worker_message *ret)
{
	int got = child_receive(&id->child, id->stop_fd, deadline, ret);
	bool ours = got == 1 && ret->head.type == WORKER_IDENTITY && ret->head.serial == id->serial;
	return got == 1 && !ours ? -EPROTO : got;
}

int identify(struct identifier *id, int fd, uint64_t size, struct image_identity ret[static IDENTITIES_MAX],
	     size_t *ret_n, struct gsym_diag *diag)
{
	int err = ensure_worker(id, diag);
	if (err)
		return err;
	union worker_message msg;
	int64_t deadline = monotonic_ms() + LEAST_TIME_MS + (int64_t)(size / LEAST_BYTES_PER_MS);
	err = send_file(id, fd);
	int got = err == -EPIPE || err == -ECONNRESET ? 0 : err;
	*ret_n = 0;
	while (!err && (got = receive_answer(id, deadline, &msg)) == 1) {
		if (*ret_n >= IDENTITIES_MAX) {
			got = -EPROTO;
			break;
		}
		err = take_identity(&msg.identity, &ret[*ret_n], diag);
		*ret_n += !err && msg.identity.kind != IMAGE_OTHER;
		if (err || !msg.identity.more)
			return err;
	}
	return give_up_worker(id, got, diag);
}
