/*
 * The main thread takes messages; each of a few others runs one transfer at a time, since engines block. A
 * request is never refused for lack of a thread: the client sends no more than there are.
 */
#include "store/transfer/store_child.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/transfer/engine.h"
#include "store/transfer/received_object.h"
#include "store/transfer/s3_credentials.h"
#include "work/sandbox/sandbox.h"
#include "work/os/mutex.h"
#include "work/os/thread.h"
#include "store/client/store_address.h"
#include "work/worker/worker.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

enum {
	MEMORY = 1 << 30, /* bytes, thread stacks counted */
	CONNECT_MS = 1000,
	FIRST_BYTE_MS = 2000,
	STALL_MS = 10000,
};

/* By enum store_scheme. */
static const struct engine_type *const engines[] = {
	[STORE_DIRECTORY] = &directory_engine,
	[STORE_HTTP] = &http_engine,
	[STORE_S3] = &s3_engine,
};

struct transfer_job {
	struct service *service; /* borrowed */
	pthread_t thread;
	bool has_thread;
	bool is_busy; /* guarded by service.lock; what follows belongs to the thread while it is */
	atomic_bool is_canceled;
	struct worker_request request;
	int fd; /* or -1; owned */
};

struct service {
	const struct engine_type *type;
	void *engine;
	struct mutex lock;
	pthread_cond_t changed; /* a job is busy */
	bool is_ending GUARDED_BY(&lock);
	struct transfer_job jobs[WORKER_STORE_TRANSFERS]; /* see there what is guarded */
};

/* ---- One transfer ---- */

/* If the client is gone, so is this process in a moment. */
static void send_begun(const struct transfer *transfer)
{
	const struct transfer_job *job = transfer->user;
	struct worker_begun m = {.head.serial = job->request.head.serial, .size = transfer->reply.size};
	worker_send(WORKER_SOCKET_FD, &m.head, WORKER_BEGUN, -1);
}

/* A tag that cannot be sent back as it is would be of no use: there is none. */
static void copy_etag(char ret[static WORKER_STORE_ETAG], const char *etag)
{
	size_t n = strnlen(etag, WORKER_STORE_ETAG);
	bool is_plain = n < WORKER_STORE_ETAG;
	for (size_t i = 0; i < n; i++)
		is_plain &= etag[i] > ' ' && etag[i] < 0x7f;
	snprintf(ret, WORKER_STORE_ETAG, "%.*s", is_plain ? (int)n : 0, etag);
}

/* A client that gets no reply would wait for all of its time; that the process has ended it sees at once. */
static void send_reply(uint64_t serial, int err, const struct store_reply *reply)
{
	struct worker_reply m = {
		.head.serial = serial,
		.error = -err,
		.size = reply->size,
		.now = reply->now,
		.modified = reply->modified,
	};
	copy_etag(m.etag, reply->etag);
	snprintf(m.text, sizeof(m.text), "%s", reply->text);
	if (worker_send(WORKER_SOCKET_FD, &m.head, WORKER_REPLY, -1))
		_exit(1);
}

static int check_object(const struct transfer *transfer, struct store_reply *reply)
{
	struct gsym_diag diag = {""};
	int err = received_object_check(transfer->fd, reply->size, transfer->size, transfer->canceled,
					&reply->size, &diag);
	if (err)
		snprintf(reply->text, sizeof(reply->text), "%.*s", (int)sizeof(reply->text) - 1, diag.text);
	return err;
}

static int run_transfer(const struct transfer_job *job, struct transfer *transfer)
{
	const struct service *service = job->service;
	const struct worker_request *m = &job->request;
	if (m->operation == WORKER_STORE_PROBE) {
		int holds = service->type->probe(service->engine, transfer);
		transfer->reply.size = holds == 1;
		return holds < 0 ? holds : 0;
	}
	int err = service->type->run(service->engine, transfer);
	return !err && m->object && m->operation == STORE_GET ? check_object(transfer, &transfer->reply)
							      : err;
}

static void serve(struct transfer_job *job)
{
	const struct worker_request *m = &job->request;
	const uint64_t serial = m->head.serial;
	struct transfer transfer = {
		.operation = m->operation == WORKER_STORE_PROBE ? STORE_PUT : m->operation,
		.condition = m->condition,
		.name = m->name,
		.etag = m->etag,
		.fd = job->fd,
		.size = m->size,
		.limits = {CONNECT_MS, FIRST_BYTE_MS, STALL_MS, m->ms},
		.canceled = &job->is_canceled,
		.begun = send_begun,
		.user = job,
	};
	int err = run_transfer(job, &transfer);
	if (job->fd >= 0)
		close(job->fd);
	/* Free before the client learns of it, and sends the next. */
	mutex_lock(&job->service->lock);
	job->is_busy = false;
	mutex_unlock(&job->service->lock);
	send_reply(serial, err, &transfer.reply);
}

/* ---- Threads ---- */

static void *run_jobs(void *arg)
{
	struct transfer_job *job = arg;
	struct service *service = job->service;
	for (;;) {
		mutex_lock(&service->lock);
		while (!job->is_busy && !service->is_ending)
			mutex_wait(&service->lock, &service->changed);
		bool is_busy = job->is_busy;
		mutex_unlock(&service->lock);
		if (!is_busy)
			return NULL;
		serve(job);
	}
}

/* A job that is free, with a thread; threads are started as they are needed. */
static struct transfer_job *free_job(struct service *service) REQUIRES(&service->lock)
{
	struct transfer_job *job = service->jobs;
	while (job < service->jobs + WORKER_STORE_TRANSFERS && job->is_busy)
		job++;
	if (job == service->jobs + WORKER_STORE_TRANSFERS)
		return NULL;
	job->service = service;
	if (!job->has_thread && thread_start(&job->thread, "transfer", run_jobs, job))
		return NULL;
	job->has_thread = true;
	return job;
}

/* 0; -EBUSY: there is no thread for it. */
static int begin_job(struct service *service, const struct worker_request *m, int fd)
{
	mutex_lock(&service->lock);
	struct transfer_job *job = free_job(service);
	if (job) {
		job->request = *m;
		job->fd = fd;
		atomic_store(&job->is_canceled, false);
		job->is_busy = true;
		pthread_cond_broadcast(&service->changed);
	}
	mutex_unlock(&service->lock);
	return job ? 0 : -EBUSY;
}

/* @serial: of a request; 0: of all */
static void cancel(struct service *service, uint64_t serial)
{
	mutex_lock(&service->lock);
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		if (service->jobs[i].is_busy && (!serial || service->jobs[i].request.head.serial == serial))
			atomic_store(&service->jobs[i].is_canceled, true);
	mutex_unlock(&service->lock);
}

static void end_threads(struct service *service)
{
	cancel(service, 0);
	mutex_lock(&service->lock);
	service->is_ending = true;
	pthread_cond_broadcast(&service->changed);
	mutex_unlock(&service->lock);
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		if (service->jobs[i].has_thread)
			pthread_join(service->jobs[i].thread, NULL);
}

/* ---- Messages ---- */

static bool needs_file(const struct worker_request *m)
{
	return m->operation == STORE_GET || m->operation == STORE_PUT;
}

static int take_request(struct service *service, const struct worker_request *m, int fd)
{
	struct store_reply reply = {.text = "cannot start a thread"};
	if (needs_file(m) != (fd >= 0))
		return -EPROTO;
	int err = begin_job(service, m, fd);
	if (err && fd >= 0)
		close(fd);
	if (err)
		send_reply(m->head.serial, err, &reply);
	return 0;
}

/* 0 when the client has closed its side. */
static int serve_client(struct service *service)
{
	union worker_message msg;
	int fd, got, err = 0;
	while (!err && (got = worker_receive(WORKER_SOCKET_FD, &msg, &fd)) == 1) {
		if (msg.head.type == WORKER_REQUEST)
			err = take_request(service, &msg.request, fd);
		else if (msg.head.type == WORKER_CANCEL && fd < 0)
			cancel(service, msg.head.serial);
		else
			err = -EPROTO;
	}
	return err ? err : got;
}

/* ---- Starting ---- */

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

/* Files that the engine reads, and may read again when they have changed. */
static void enter_sandbox(const struct store_options *o)
{
	const enum store_scheme scheme = store_scheme_of(o->address);
	char *credentials = scheme == STORE_S3 ? s3_credentials_path() : NULL;
	const char *const secrets[] = {o->bearer_file, o->netrc_file, o->cert_file,
				       o->key_file,    o->ca_file,    credentials};
	if (scheme == STORE_DIRECTORY)
		sandbox_enter_directory(o->address);
	else
		sandbox_enter_transfer(secrets, ARRAY_SIZE(secrets));
	free(credentials);
}

static int open_engine(struct service *service, const struct store_options *options, struct gsym_diag *diag)
{
	service->type = engines[store_scheme_of(options->address)];
	int err = sandbox_limits(MEMORY, 0, UINT64_MAX);
	return err ? diag_set(diag, err, "cannot set the limits of the process")
		   : service->type->open(options, &service->engine, diag);
}

/* Opens what libraries and directories it needs, gives everything else up, and answers the client. */
static int start(struct service *service, const struct worker_store *m)
{
	const struct store_options options = {
		.address = m->address,
		.bearer_file = text_or_null(m->bearer_file),
		.netrc_file = text_or_null(m->netrc_file),
		.cert_file = text_or_null(m->cert_file),
		.key_file = text_or_null(m->key_file),
		.ca_file = text_or_null(m->ca_file),
	};
	struct gsym_diag diag = {""};
	struct store_reply reply = {.err = 0};
	int err = open_engine(service, &options, &diag);
	if (!err)
		enter_sandbox(&options);
	snprintf(reply.text, sizeof(reply.text), "%.*s", (int)sizeof(reply.text) - 1, diag.text);
	send_reply(m->head.serial, err, &reply);
	return err;
}

int work_store(void)
{
	union worker_message msg;
	struct service service = {.type = NULL};
	if (worker_receive(WORKER_SOCKET_FD, &msg, NULL) != 1 || msg.head.type != WORKER_STORE)
		return 1;
	const struct worker_store config = msg.store;
	mutex_init(&service.lock, LOCK_STORE);
	pthread_cond_init(&service.changed, NULL);
	int err = start(&service, &config);
	if (!err) {
		err = serve_client(&service);
		if (err)
			_exit(1); /* what is under way was not cancelled by the client */
		end_threads(&service);
		service.type->close(service.engine);
	}
	pthread_cond_destroy(&service.changed);
	mutex_destroy(&service.lock);
	return err ? 1 : 0;
}
