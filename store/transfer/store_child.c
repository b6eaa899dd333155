/*
 * The main thread takes messages. Each transfer has a thread, since engines block, and one of a few slots,
 * since the client sends no more at once.
 */
#include "store/transfer/store_child.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/transfer/engine.h"
#include "store/transfer/http_secrets.h"
#include "work/sandbox/sandbox.h"
#include "work/os/mutex.h"
#include "work/os/thread.h"
#include "store/client/store_address.h"
#include "store/client/store_object.h"
#include "work/cache/handle.h"
#include "work/worker/worker.h"
#include "gsym/base/diag.h"
#include "gsym/base/fault.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"
#include "gsym/check/check.h"

enum {
	MEMORY = 1 << 30, /* bytes, thread stacks counted */
	CONNECT_MS = 1000,
	STALL_MS = 20000,
};

/* By enum store_scheme. */
static const struct engine_type *const engines[] = {
	[STORE_DIRECTORY] = &directory_engine,
	[STORE_HTTP] = &http_engine,
	[STORE_S3] = &s3_engine,
};

struct transfer_job {
	struct service *service; /* borrowed */
	bool is_busy;            /* guarded by service.lock; what follows belongs to the thread while it is */
	atomic_bool is_canceled;
	struct worker_request request;
	int fd; /* or -1; owned */
};

struct service {
	const struct engine_type *type;
	void *engine;
	struct mutex lock;                                /* guards is_busy of each job, and */
	unsigned unanswered GUARDED_BY(&lock);            /* threads that have still to reply */
	pthread_cond_t changed;                           /* there is one less */
	struct transfer_job jobs[WORKER_STORE_TRANSFERS]; /* see there what is guarded */
};

/* ---- To the client ---- */

/* If the client is gone, so is this process in a moment. */
static void send_begun(const struct transfer *transfer)
{
	const struct transfer_job *job = transfer->user;
	struct worker_begun m = {.head.serial = job->request.head.serial};
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

/* ---- Objects, which are hostile ---- */

/* @size: of the file of the cache that it is, which begins with its GSYM (handle.h) */
static int check_conversion(const struct transfer_job *job, uint64_t size, struct gsym_diag *diag)
{
	struct gsym_reader *reader;
	int failed = handle_gsym_size(job->fd, size, &size, diag);
	if (failed)
		return failed;
	void *at = size ? file_map(job->fd, size, MAP_SHARED) : MAP_FAILED;
	if (at == MAP_FAILED)
		return diag_set(diag, size ? -errno : -EBADMSG, "the conversion is %s",
				size ? strerror(errno) : "empty");
	int err = gsym_reader_open_memory(at, (size_t)size, &reader, diag);
	if (!err) {
		err = check_gsym_first(reader, &job->is_canceled, diag);
		gsym_reader_close(reader);
	}
	munmap(at, (size_t)size);
	return err;
}

/*
 * Writes the object that was received to the file of @job, decompressed, and decodes every record of its GSYM
 * if it is a conversion. Its hash, key and signature are left to the client.
 */
static int unpack(const struct transfer_job *job, struct transfer *transfer)
{
	struct store_reply *reply = &transfer->reply;
	struct object_trailer trailer;
	struct gsym_diag diag = {""};
	int err = transfer->size < OBJECT_TRAILER
			  ? -EFBIG
			  : object_unpack(transfer->fd, reply->size, job->fd, transfer->size - OBJECT_TRAILER,
					  &trailer, &diag);
	if (!err && trailer.kind == OBJECT_CONVERSION)
		err = check_conversion(job, trailer.size, &diag);
	if (!err)
		reply->size = trailer.size + OBJECT_TRAILER;
	else
		snprintf(reply->text, sizeof(reply->text), "%.*s", (int)sizeof(reply->text) - 1, diag.text);
	/* Of another revision it cannot be under this name, which the revision is a part of. */
	return err == -EPROTO ? -EBADMSG : err;
}

static int get_object(const struct transfer_job *job, struct transfer *transfer)
{
	const struct service *service = job->service;
	transfer->fd = memfd_create("gsym-object", MFD_CLOEXEC);
	if (transfer->fd < 0)
		return system_error(errno);
	int err = service->type->run(service->engine, transfer);
	if (!err)
		err = unpack(job, transfer);
	close(transfer->fd);
	return err;
}

/* ---- One transfer ---- */

/* The thread of a transfer. */
static void *serve(void *arg)
{
	struct transfer_job *job = arg;
	struct service *service = job->service;
	const struct worker_request *m = &job->request;
	const uint64_t serial = m->head.serial;
	struct transfer transfer = {
		.operation = m->operation,
		.condition = m->condition,
		.name = m->name,
		.etag = m->etag,
		.fd = job->fd,
		.size = m->size,
		.limits = {CONNECT_MS, STALL_MS, m->ms},
		.canceled = &job->is_canceled,
		.begun = send_begun,
		.user = job,
		.slot = (unsigned)(job - service->jobs),
	};
	int err = m->object && m->operation == STORE_GET ? get_object(job, &transfer)
							 : service->type->run(service->engine, &transfer);
	if (job->fd >= 0)
		close(job->fd);
	/* Free before the client learns of it, and sends the next. */
	mutex_lock(&service->lock);
	job->is_busy = false;
	mutex_unlock(&service->lock);
	send_reply(serial, err, &transfer.reply);
	mutex_lock(&service->lock);
	service->unanswered--;
	pthread_cond_signal(&service->changed);
	mutex_unlock(&service->lock);
	return NULL;
}

/* ---- Threads ---- */

static struct transfer_job *free_job(struct service *service) REQUIRES(&service->lock)
{
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		if (!service->jobs[i].is_busy)
			return &service->jobs[i];
	return NULL;
}

/* 0; -EBUSY: there is no thread for it. */
static int begin_job(struct service *service, const struct worker_request *m, int fd)
{
	pthread_t thread;
	mutex_lock(&service->lock);
	struct transfer_job *job = free_job(service);
	if (job) {
		job->service = service;
		job->request = *m;
		job->fd = fd;
		atomic_store(&job->is_canceled, false);
		job->is_busy = thread_start(&thread, "transfer", serve, job) == 0;
		service->unanswered += job->is_busy;
	}
	const bool is_begun = job && job->is_busy;
	mutex_unlock(&service->lock);
	if (is_begun)
		pthread_detach(thread);
	return is_begun ? 0 : -EBUSY;
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

static void await_replies(struct service *service)
{
	mutex_lock(&service->lock);
	while (service->unanswered)
		mutex_wait(&service->lock, &service->changed);
	mutex_unlock(&service->lock);
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
		cancel(&service, 0);
		await_replies(&service);
		service.type->close(service.engine);
	}
	pthread_cond_destroy(&service.changed);
	mutex_destroy(&service.lock);
	return err ? 1 : 0;
}
