/* Sending, receiving and validating messages between a client and its worker. */
#include "work/worker/worker.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "work/types/convert_types.h"
#include "work/types/go_id.h"
#include "work/types/valid_name.h"

/* Size of a message of @type; 0 for an unknown type. */
static size_t message_size(uint32_t type)
{
	switch (type) {
	case WORKER_CONVERT: return sizeof(struct worker_convert);
	case WORKER_IDENTIFY: return sizeof(struct worker_identify);
	case WORKER_PROGRESS: return sizeof(struct worker_progress);
	case WORKER_WARNING: return sizeof(struct worker_warning);
	case WORKER_DONE: return sizeof(struct worker_done);
	case WORKER_FAILED: return sizeof(struct worker_failed);
	case WORKER_IDENTITY: return sizeof(struct worker_identity);
	case WORKER_READY: return sizeof(struct worker_ready);
	case WORKER_MISSING: return sizeof(struct worker_missing);
	case WORKER_SECTION: return sizeof(struct worker_section);
	case WORKER_SEGMENT: return sizeof(struct worker_segment);
	case WORKER_OPEN: return sizeof(struct worker_open);
	case WORKER_OPENED: return sizeof(struct worker_opened);
	case WORKER_FETCH: return sizeof(struct worker_fetch);
	case WORKER_DOWNLOAD: return sizeof(struct worker_download);
	case WORKER_FRAGMENT: return sizeof(struct worker_fragment);
	case WORKER_FORK: return sizeof(struct worker_fork);
	case WORKER_ASK: return sizeof(struct worker_ask);
	case WORKER_STORE: return sizeof(struct worker_store);
	case WORKER_REQUEST: return sizeof(struct worker_request);
	case WORKER_CANCEL: return sizeof(struct worker_cancel);
	case WORKER_BEGUN: return sizeof(struct worker_begun);
	case WORKER_REPLY: return sizeof(struct worker_reply);
	case WORKER_DETAIL: return sizeof(struct worker_detail);
	}
	return 0;
}

static bool terminated(const char *text, size_t size)
{
	return memchr(text, 0, size) != NULL;
}

/* Consecutive strings that end with an empty one. */
static bool list_terminated(const char *list, size_t size)
{
	const char *at = list, *end = list + size;
	while (at < end && *at) {
		at = memchr(at, 0, (size_t)(end - at));
		if (!at)
			return false;
		at++;
	}
	return at < end;
}

static bool asked_valid(const struct worker_address *asked, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < WORKER_ASKED_MAX; i++)
		if (asked[i].origin >= ADDRESS_ORIGINS)
			return false;
	return n <= WORKER_ASKED_MAX;
}

static bool convert_valid(const struct worker_convert *m)
{
	return m->threads >= 1 && m->threads <= 1024 && m->version <= 2 && m->has_binary <= 1 &&
	       m->fetch <= 1 && m->id_size <= sizeof(m->id) && terminated(m->arch, sizeof(m->arch)) &&
	       m->merged <= 1 && terminated(m->input, sizeof(m->input)) &&
	       terminated(m->binary, sizeof(m->binary)) &&
	       list_terminated(m->debug_dirs, sizeof(m->debug_dirs)) && m->purpose < WORKER_PURPOSES &&
	       asked_valid(m->asked, m->n_asked);
}

static bool progress_valid(const struct worker_progress *m)
{
	return (m->phase == CONVERT_READING || m->phase == CONVERT_WRITING) && m->done <= m->total;
}

static bool failed_valid(const struct worker_failed *m)
{
	return m->error > 0 && m->error < 4096 && m->at_limit <= 1 && terminated(m->text, sizeof(m->text));
}

static bool identity_valid(const struct worker_identity *m)
{
	if (m->error < 0 || m->error >= 4096 || m->kind > IMAGE_KIND_LAST || m->more > 1 ||
	    m->id_size > sizeof(m->id))
		return false;
	if (m->error == 0 && m->kind != IMAGE_OTHER && m->id_size == 0)
		return false;
	return m->id_is_hash <= 1 && m->id_is_truncated <= 1 && m->has_dwarf <= 1 && m->has_symtab <= 1 &&
	       m->has_text <= 1 && m->has_gsym <= 1 && m->has_go <= 1 && m->has_lost <= 1 &&
	       terminated(m->arch, sizeof(m->arch)) && go_id_is_valid(m->go_id) &&
	       terminated(m->name, sizeof(m->name)) && (!*m->name || image_name_valid(m->name)) &&
	       terminated(m->text, sizeof(m->text));
}

static bool download_valid(const struct worker_download *m)
{
	return m->id_size >= 1 && m->id_size <= sizeof(m->id) && m->seconds >= 1 && m->partial <= 1 &&
	       m->directory[0] == '/' && terminated(m->directory, sizeof(m->directory)) &&
	       terminated(m->urls, sizeof(m->urls));
}

static bool fragment_valid(const struct worker_fragment *m)
{
	static_assert((int)WORKER_SEGMENTS_MAX == (int)CONVERT_SEGMENTS_MAX, "one limit");
	return m->has_ada <= 1 && m->n_segments <= WORKER_SEGMENTS_MAX;
}

static bool detail_valid(const struct worker_detail *m)
{
	return m->has_start <= 1 && m->has_frame <= 1 && m->more <= 1 && (m->has_frame || !m->more) &&
	       m->source_size <= sizeof(m->source) && terminated(m->start_dir, sizeof(m->start_dir)) &&
	       terminated(m->start_base, sizeof(m->start_base));
}

static bool store_valid(const struct worker_store *m)
{
	return *m->address && terminated(m->address, sizeof(m->address)) &&
	       terminated(m->bearer_file, sizeof(m->bearer_file)) &&
	       terminated(m->netrc_file, sizeof(m->netrc_file)) &&
	       terminated(m->cert_file, sizeof(m->cert_file)) &&
	       terminated(m->key_file, sizeof(m->key_file)) && terminated(m->ca_file, sizeof(m->ca_file));
}

/* A relative path whose components begin with no '.', so that none is "." or "..", or hidden. */
static bool object_name_valid(const char *name)
{
	bool begins = true;
	for (const char *at = name; *at; at++) {
		if (!(*at >= '0' && *at <= '9') && !(*at >= 'a' && *at <= 'z') && !strchr("./-", *at))
			return false;
		if (begins && (*at == '/' || *at == '.'))
			return false;
		begins = *at == '/';
	}
	return !begins;
}

/* Becomes a line of HTTP's header. */
static bool etag_valid(const char *etag, size_t size)
{
	if (!terminated(etag, size))
		return false;
	while (*etag > ' ' && *etag < 0x7f)
		etag++;
	return !*etag;
}

static bool request_valid(const struct worker_request *m)
{
	if (m->operation > WORKER_STORE_DELETE || m->condition > WORKER_STORE_IF_MATCH || m->object > 1 ||
	    !m->ms)
		return false;
	if (!terminated(m->name, sizeof(m->name)) || !etag_valid(m->etag, sizeof(m->etag)))
		return false;
	return object_name_valid(m->name) && (m->condition != WORKER_STORE_IF_MATCH || *m->etag);
}

static bool reply_valid(const struct worker_reply *m)
{
	return m->error >= 0 && m->error < 4096 && etag_valid(m->etag, sizeof(m->etag)) &&
	       terminated(m->text, sizeof(m->text));
}

static bool content_valid(const union worker_message *msg)
{
	switch (msg->head.type) {
	case WORKER_CONVERT: return convert_valid(&msg->convert);
	case WORKER_IDENTIFY: return true;
	case WORKER_PROGRESS: return progress_valid(&msg->progress);
	case WORKER_WARNING:
		return terminated(msg->warning.kind, sizeof(msg->warning.kind)) &&
		       terminated(msg->warning.effect, sizeof(msg->warning.effect)) &&
		       terminated(msg->warning.first, sizeof(msg->warning.first));
	case WORKER_DONE:
		return terminated(msg->done.arch, sizeof(msg->done.arch)) &&
		       terminated(msg->done.bounded_by, sizeof(msg->done.bounded_by));
	case WORKER_FAILED: return failed_valid(&msg->failed);
	case WORKER_IDENTITY: return identity_valid(&msg->identity);
	case WORKER_READY:
	case WORKER_SEGMENT: return true;
	case WORKER_MISSING: return terminated(msg->missing.name, sizeof(msg->missing.name));
	case WORKER_SECTION: return terminated(msg->section.name, sizeof(msg->section.name));
	case WORKER_OPEN: return terminated(msg->open.path, sizeof(msg->open.path));
	case WORKER_OPENED: return msg->opened.error >= 0 && msg->opened.error < 4096;
	case WORKER_FETCH: return msg->fetch.id_size >= 1 && msg->fetch.id_size <= sizeof(msg->fetch.id);
	case WORKER_DOWNLOAD: return download_valid(&msg->download);
	case WORKER_FORK: return msg->fork.n_fds <= WORKER_FDS_MAX;
	case WORKER_DETAIL: return detail_valid(&msg->detail);
	case WORKER_FRAGMENT: return fragment_valid(&msg->fragment);
	case WORKER_STORE: return store_valid(&msg->store);
	case WORKER_REQUEST: return request_valid(&msg->request);
	case WORKER_CANCEL:
	case WORKER_BEGUN: return true;
	case WORKER_REPLY: return reply_valid(&msg->reply);
	case WORKER_ASK:
		return msg->ask.is_data <= 1 && msg->ask.n_asked &&
		       asked_valid(msg->ask.asked, msg->ask.n_asked);
	}
	return false;
}

int worker_message_check(const union worker_message *msg, size_t size)
{
	if (size < sizeof(msg->head) || msg->head.size != size || message_size(msg->head.type) != size)
		return -EPROTO;
	return content_valid(msg) ? 0 : -EPROTO;
}

/* Ancillary data of one descriptor, aligned as cmsg(3) requires. */
union fd_control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void attach(struct msghdr *msg, union fd_control *control, int fd)
{
	memset(control, 0, sizeof(*control));
	msg->msg_control = control->bytes;
	msg->msg_controllen = sizeof(control->bytes);
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
}

int worker_send(int sock, struct worker_header *head, uint32_t type, int pass)
{
	head->type = type;
	head->size = (uint32_t)message_size(type);
	struct iovec iov = {.iov_base = head, .iov_len = head->size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union fd_control control;
	if (pass >= 0)
		attach(&msg, &control, pass);
	ssize_t n;
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/*
 * The descriptor that came with a message, or -1. Alignment makes room for more than one: if several came,
 * all are closed and @ret_several is set.
 */
static int attached(struct msghdr *msg, bool *ret_several)
{
	int first = -1, fd;
	*ret_several = false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t off = CMSG_LEN(0); off + sizeof(fd) <= c->cmsg_len; off += sizeof(fd)) {
			memcpy(&fd, (char *)c + off, sizeof(fd));
			*ret_several |= first >= 0;
			close_fd(first);
			first = fd;
		}
	}
	if (!*ret_several)
		return first;
	close_fd(first);
	return -1;
}

int worker_receive(int sock, union worker_message *ret, int *ret_fd)
{
	struct iovec iov = {.iov_base = ret, .iov_len = sizeof(*ret)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union fd_control control;
	if (ret_fd) {
		*ret_fd = -1;
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
	}
	ssize_t n;
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	bool several = false;
	int fd = ret_fd ? attached(&msg, &several) : -1; /* even an empty packet may have some */
	if (n == 0) {
		close_fd(fd);
		return 0;
	}
	if (several || msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || worker_message_check(ret, (size_t)n)) {
		close_fd(fd);
		return -EPROTO;
	}
	if (ret_fd)
		*ret_fd = fd;
	return 1;
}
