#include "work/run/identifier.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "gsym/base/diag.h"

enum {
	/* For hashing a file without an id: a disk slower than this counts as hung. */
	LEAST_BYTES_PER_MS = 5000,
	LEAST_TIME_MS = 30000,
};

static int ensure_worker(struct identifier *id, struct gsym_diag *diag)
{
	const struct child_order order = {
		.program = id->worker,
		.mode = "scan",
		.stop_fd = id->stop_fd,
	};
	return id->child.pid ? 0 : child_start(&order, &id->child, diag);
}

void identifier_stop(struct identifier *identifier)
{
	if (identifier->child.pid)
		child_finish(&identifier->child, NULL);
}

static int send_file(struct identifier *id, int fd, uint64_t hash_max)
{
	struct worker_identify m = {.hash_max = hash_max};
	/* Unpredictable, so that a compromised worker cannot answer for later files in advance. */
	if (getrandom(&id->serial, sizeof(id->serial), 0) != sizeof(id->serial))
		return -EIO;
	m.head.serial = id->serial;
	return worker_send(id->child.sock, &m.head, WORKER_IDENTIFY, fd);
}

static void take_identity(const struct worker_identity *m, struct image_identity *ret)
{
	*ret = (struct image_identity){
		.kind = (enum image_kind)m->kind,
		.id_size = m->id_size,
		.id_is_hash = m->id_is_hash,
		.id_is_truncated = m->id_is_truncated,
		.has_dwarf = m->has_dwarf,
		.has_symtab = m->has_symtab,
		.has_text = m->has_text,
		.has_gsym = m->has_gsym,
		.has_go = m->has_go,
		.has_lost = m->has_lost,
	};
	memcpy(ret->id, m->id, m->id_size);
	memcpy(ret->htlhash, m->htlhash, sizeof(ret->htlhash));
	memcpy(ret->go_id, m->go_id, sizeof(ret->go_id));
	snprintf(ret->arch, sizeof(ret->arch), "%s", m->arch);
	snprintf(ret->name, sizeof(ret->name), "%s", m->name);
}

/* Ends the worker after error @why or, if that is 0, its exit. Sets the fault and @diag. */
static int give_up_worker(struct identifier *id, int why, struct identified *ret, struct gsym_diag *diag)
{
	if (why != 0) /* else it has closed the socket itself */
		child_kill(&id->child);
	int status = child_finish(&id->child, NULL);
	if (why == -ECANCELED)
		return why;
	char end[CHILD_END_SIZE];
	child_end_text(status, end);
	if (!id->begun && why != -EPROTO)
		return diag_set(diag, -ECHILD, "the worker that identifies files %s%s before it took one",
				why ? "gave no answer, and " : "", end);
	ret->fault = fault_of_end(why, status);
	if (why == -ETIMEDOUT)
		return diag_set(diag, why, "timeout while identifying it");
	if (why == -EPROTO)
		return diag_set(diag, why, "the worker identifying it violated the protocol");
	if (why)
		return diag_set(diag, why, "no answer from the worker identifying it: %s", strerror(-why));
	return diag_set(diag, -EIO, "the worker identifying it %s", end);
}

/* An answer: 1 with a message of @type to this question, else as child_receive(). */
static int receive_answer(struct identifier *id, int64_t deadline, uint32_t type, union worker_message *ret)
{
	int got = child_receive(&id->child, id->stop_fd, deadline, ret);
	bool ours = got == 1 && ret->head.type == type && ret->head.serial == id->serial;
	return got == 1 && !ours ? -EPROTO : got;
}

/* 1 when the answer is complete: @ret is filled or, with @ret_err, the fault. Else as child_receive(). */
static int receive_all(struct identifier *id, int64_t deadline, struct identified *ret, int *ret_err,
		       struct gsym_diag *diag)
{
	union worker_message msg;
	int got = receive_answer(id, deadline, WORKER_BEGUN, &msg);
	*ret_err = 0;
	id->begun = got == 1;
	while (got == 1 && (got = receive_answer(id, deadline, WORKER_IDENTITY, &msg)) == 1) {
		const struct worker_identity *m = &msg.identity;
		if (m->error) {
			ret->fault = fault_of_report(-m->error);
			*ret_err = diag_set(diag, -m->error, "%s", m->text);
			return 1;
		}
		if (ret->n >= IDENTITIES_MAX)
			return -EPROTO;
		ret->to_hash = m->to_hash;
		if (m->kind != IMAGE_OTHER)
			diag_set(&ret->lost, 0, "%s", m->text);
		if (m->kind != IMAGE_OTHER)
			take_identity(m, &ret->images[ret->n++]);
		if (!m->more)
			return 1;
	}
	return got;
}

static int ask(struct identifier *id, int fd, uint64_t hash_size, uint64_t hash_max, struct identified *ret,
	       struct gsym_diag *diag)
{
	*ret = (struct identified){.fault = FAULT_MACHINE};
	id->begun = false;
	int err = ensure_worker(id, diag);
	id->asked = !err;
	if (err)
		return err;
	int64_t deadline = monotonic_ms() + LEAST_TIME_MS + (int64_t)(hash_size / LEAST_BYTES_PER_MS);
	int got = send_file(id, fd, hash_max);
	if (child_has_gone(got))
		got = 0;
	else if (!got)
		got = receive_all(id, deadline, ret, &err, diag);
	return got == 1 ? err : give_up_worker(id, got, ret, diag);
}

/* Whether the worker may have died of something else than this file. */
static bool worth_another_try(const struct identifier *id, int err)
{
	return err && !id->child.pid && id->asked && err != -ECANCELED && err != -ETIMEDOUT;
}

int identify(struct identifier *id, int fd, uint64_t size, uint64_t hash_max, struct identified *ret,
	     struct gsym_diag *diag)
{
	/* The deadline allows for what may be hashed, not for what a file claims as its size. */
	uint64_t hash_size = size < hash_max ? size : hash_max;
	int err = ask(id, fd, hash_size, hash_max, ret, diag);
	return worth_another_try(id, err) ? ask(id, fd, hash_size, hash_max, ret, diag) : err;
}
