/* Messages between daemon and worker: whole ones arrive, others are refused. */
#include "convert/record/convert_types.h"
#include "convert/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

static void make_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static void close_pair(int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

static void whole_message(void **state)
{
	int pair[2];
	union worker_message got;
	struct worker_failed m = {
		.head.serial = 77, .error = EBADMSG, .text = ".debug_line+0x10: expected a version"};
	(void)state;
	make_pair(pair);
	assert_int_equal(worker_send(pair[0], &m.head, WORKER_FAILED, -1), 0);
	assert_int_equal(worker_receive(pair[1], &got, NULL), 1);
	assert_int_equal(got.head.type, WORKER_FAILED);
	assert_int_equal(got.head.serial, 77);
	assert_int_equal(got.failed.error, EBADMSG);
	assert_string_equal(got.failed.text, m.text);
	close(pair[0]);
	assert_int_equal(worker_receive(pair[1], &got, NULL), 0);
	assert_int_equal(worker_send(pair[1], &m.head, WORKER_FAILED, -1), -EPIPE);
	close(pair[1]);
}

static void descriptor(void **state)
{
	int pair[2], fd;
	union worker_message got;
	struct worker_identify m = {.head.serial = 1};
	(void)state;
	make_pair(pair);
	assert_int_equal(worker_send(pair[0], &m.head, WORKER_IDENTIFY, pair[0]), 0);
	assert_int_equal(worker_receive(pair[1], &got, &fd), 1);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(worker_send(pair[0], &m.head, WORKER_IDENTIFY, -1), 0);
	assert_int_equal(worker_receive(pair[1], &got, &fd), 1);
	assert_int_equal(fd, -1);
	/* Where none is wanted, one is an attack. */
	assert_int_equal(worker_send(pair[0], &m.head, WORKER_IDENTIFY, pair[0]), 0);
	assert_int_equal(worker_receive(pair[1], &got, NULL), -EPROTO);
	close_pair(pair);
}

static unsigned count_descriptors(void)
{
	unsigned n = 0;
	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Sends a message of @size bytes with @n descriptors. */
static void send_with(int sock, void *data, size_t size, size_t n)
{
	union {
		char bytes[CMSG_SPACE(8 * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {data, size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes};
	msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &sock, sizeof(sock));
	assert_int_equal(sendmsg(sock, &msg, 0), (ssize_t)size);
}

/* A worker that was taken over may send as many as it likes: none stays open. */
static void several_descriptors(void **state)
{
	int pair[2], fd;
	union worker_message got;
	struct worker_opened m = {.head = {WORKER_OPENED, sizeof(m), 0}};
	(void)state;
	make_pair(pair);
	unsigned before = count_descriptors();
	for (size_t n = 2; n <= 8; n++) {
		send_with(pair[0], &m, sizeof(m), n);
		assert_int_equal(worker_receive(pair[1], &got, &fd), -EPROTO);
		assert_int_equal(fd, -1);
		send_with(pair[0], &m, sizeof(m), n);
		assert_int_equal(worker_receive(pair[1], &got, NULL), -EPROTO);
	}
	send_with(pair[0], &m, sizeof(m) - 1, 1);
	assert_int_equal(worker_receive(pair[1], &got, &fd), -EPROTO);
	send_with(pair[0], &m, 0, 1);
	assert_int_equal(worker_receive(pair[1], &got, &fd), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(count_descriptors(), before);
	close_pair(pair);
}

static void refuse(const void *data, size_t size)
{
	int pair[2];
	union worker_message got;
	make_pair(pair);
	assert_int_equal(send(pair[0], data, size, 0), (ssize_t)size);
	assert_int_equal(worker_receive(pair[1], &got, NULL), -EPROTO);
	close_pair(pair);
}

static void broken_messages(void **state)
{
	struct worker_header head = {.type = WORKER_DONE, .size = sizeof(struct worker_done)};
	struct worker_progress progress = {
		.head = {WORKER_PROGRESS, sizeof(progress), 0}, .done = 2, .total = 1};
	struct worker_progress phase = {.head = {WORKER_PROGRESS, sizeof(phase), 0}, .phase = 9};
	struct worker_failed text = {.head = {WORKER_FAILED, sizeof(text), 0}, .error = EIO};
	struct worker_failed limit = {
		.head = {WORKER_FAILED, sizeof(limit), 0}, .error = ENOMEM, .at_limit = 2};
	struct worker_failed error = {.head = {WORKER_FAILED, sizeof(error), 0}, .error = -5};
	struct worker_identity id = {.head = {WORKER_IDENTITY, sizeof(id), 0}, .kind = 1, .id_size = 65};
	struct worker_identity go_id = {
		.head = {WORKER_IDENTITY, sizeof(go_id), 0}, .kind = 1, .id_size = 20, .go_id = "redacted"};
	struct worker_identity slash = {
		.head = {WORKER_IDENTITY, sizeof(slash), 0}, .kind = 1, .id_size = 20, .name = "a/b"};
	struct worker_identity endless_name = slash;
	struct worker_identity no_id = {.head = {WORKER_IDENTITY, sizeof(no_id), 0}, .kind = 1};
	struct worker_convert order = {
		.head = {WORKER_CONVERT, sizeof(order), 0}, .threads = 0, .version = 1};
	struct worker_section section = {.head = {WORKER_SECTION, sizeof(section), 0}, .size = 1};
	struct worker_convert dirs = {.head = {WORKER_CONVERT, sizeof(dirs), 0}, .threads = 1, .version = 1};
	struct worker_open path = {.head = {WORKER_OPEN, sizeof(path), 0}};
	struct worker_opened opened = {.head = {WORKER_OPENED, sizeof(opened), 0}, .error = -1};
	struct worker_convert fetches = {
		.head = {WORKER_CONVERT, sizeof(fetches), 0}, .threads = 1, .version = 1, .fetch = 2};
	struct worker_fetch fetch = {.head = {WORKER_FETCH, sizeof(fetch), 0}, .id_size = 65},
			    no_fetch = fetch;
	struct worker_download download = {.head = {WORKER_DOWNLOAD, sizeof(download), 0},
					   .id_size = 20,
					   .seconds = 1,
					   .directory = "relative"};
	struct worker_download endless = download;
	struct worker_fragment language = {
		.head = {WORKER_FRAGMENT, sizeof(language), 0}, .output_size = 1, .has_ada = 2};
	struct worker_fragment segments = {
		.head = language.head, .output_size = 1, .n_segments = WORKER_SEGMENTS_MAX + 1};
	struct worker_ask none = {.head = {WORKER_ASK, sizeof(none), 0}}, more = none, origin = none;
	struct worker_convert asks = {.head = {WORKER_CONVERT, sizeof(asks), 0},
				      .threads = 1,
				      .version = 1,
				      .n_asked = WORKER_ASKED_MAX + 1};
	struct worker_convert base = asks, only = asks;
	static const char large[sizeof(union worker_message) + 100];
	(void)state;
	memset(text.text, 'x', sizeof(text.text));
	memset(section.name, 'x', sizeof(section.name));
	memset(path.path, 'x', sizeof(path.path));
	/* The last directory is terminated, the list is not. */
	memset(dirs.debug_dirs, 'x', sizeof(dirs.debug_dirs) - 1);
	no_fetch.id_size = 0;
	memset(endless.directory, '/', sizeof(endless.directory));
	base.n_asked = 1;
	base.asked[0].origin = ADDRESS_ORIGINS;
	refuse(&language, sizeof(language));
	refuse(&segments, sizeof(segments));
	more.n_asked = WORKER_ASKED_MAX + 1;
	origin.n_asked = 1;
	origin.asked[0].origin = ADDRESS_ORIGINS;
	only.n_asked = 1;
	only.fragments_only = 2;
	refuse(&none, sizeof(none));
	refuse(&more, sizeof(more));
	refuse(&origin, sizeof(origin));
	refuse(&only, sizeof(only));
	refuse(&asks, sizeof(asks));
	refuse(&base, sizeof(base));
	refuse(&fetches, sizeof(fetches));
	refuse(&fetch, sizeof(fetch));
	refuse(&no_fetch, sizeof(no_fetch));
	refuse(&download, sizeof(download));
	refuse(&endless, sizeof(endless));
	refuse(&dirs, sizeof(dirs));
	refuse(&path, sizeof(path));
	refuse(&opened, sizeof(opened));
	refuse("x", 1);
	refuse(&head, sizeof(head));
	refuse(&progress, sizeof(progress));
	refuse(&progress, sizeof(progress) - 1);
	refuse(&phase, sizeof(phase));
	refuse(&text, sizeof(text));
	refuse(&section, sizeof(section));
	refuse(&error, sizeof(error));
	refuse(&limit, sizeof(limit));
	refuse(&id, sizeof(id));
	refuse(&no_id, sizeof(no_id));
	refuse(&go_id, sizeof(go_id));
	refuse(&slash, sizeof(slash));
	memset(endless_name.name, 'x', sizeof(endless_name.name));
	refuse(&endless_name, sizeof(endless_name));
	refuse(&order, sizeof(order));
	refuse(large, sizeof(large));
}

static struct worker_request store_request(void)
{
	return (struct worker_request){.head = {WORKER_REQUEST, sizeof(struct worker_request), 0},
				       .ms = 1,
				       .name = "gsymfs1/ab/abcd.gsym"};
}

static void take(const void *data, size_t size)
{
	union worker_message msg;
	memcpy(&msg, data, size);
	assert_int_equal(worker_message_check(&msg, size), 0);
}

/* A name that leads out of the store, or hides in it, reaches no engine. */
static void names_of_objects(void **state)
{
	static const char *const bad[] = {"/a", "a/",  ".",    "..", "a/../b", "../a",  "a//b", "a/.b",
					  ".a", "a b", "a\nb", "A",  "a?b",    "a%2fb", "",     "\xff"};
	static const char *const good[] = {"a", "a.b", "a..b", "a-b/c", "ac/0123", "-"};
	struct worker_request m = store_request();
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		strcpy(m.name, bad[i]);
		refuse(&m, sizeof(m));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		strcpy(m.name, good[i]);
		take(&m, sizeof(m));
	}
	m.operation = WORKER_STORE_LIST;
	strcpy(m.name, "gsymfs1/");
	take(&m, sizeof(m));
	strcpy(m.name, "../");
	refuse(&m, sizeof(m));
	memset(m.name, 'x', sizeof(m.name));
	refuse(&m, sizeof(m));
}

static void store_messages(void **state)
{
	struct worker_store store = {.head = {WORKER_STORE, sizeof(store), 0}, .address = "/dir"};
	struct worker_store nowhere = {.head = store.head}, bazel = store, endless = store;
	struct worker_request operation = store_request(), condition = operation, object = operation,
			      no_limit = operation, no_tag = operation, line = operation;
	struct worker_reply reply = {.head = {WORKER_REPLY, sizeof(reply), 0}, .etag = "\"a\""};
	struct worker_reply error = reply, header = reply, text = reply;
	struct worker_cancel cancel = {.head = {WORKER_CANCEL, sizeof(cancel), 7}};
	struct worker_begun begun = {.head = {WORKER_BEGUN, sizeof(begun), 7}};
	(void)state;
	take(&store, sizeof(store));
	take(&reply, sizeof(reply));
	take(&cancel, sizeof(cancel));
	take(&begun, sizeof(begun));
	bazel.bazel = 2;
	memset(endless.ca_file, 'x', sizeof(endless.ca_file));
	operation.operation = WORKER_STORE_PROBE + 1;
	condition.condition = WORKER_STORE_IF_MATCH + 1;
	object.object = 2;
	no_limit.ms = 0;
	no_tag.condition = WORKER_STORE_IF_MATCH;
	strcpy(line.etag, "\"a\"\r\nHost: x");
	error.error = -1;
	strcpy(header.etag, "a b");
	memset(text.text, 'x', sizeof(text.text));
	refuse(&nowhere, sizeof(nowhere));
	refuse(&bazel, sizeof(bazel));
	refuse(&endless, sizeof(endless));
	refuse(&operation, sizeof(operation));
	refuse(&condition, sizeof(condition));
	refuse(&object, sizeof(object));
	refuse(&no_limit, sizeof(no_limit));
	refuse(&no_tag, sizeof(no_tag));
	refuse(&line, sizeof(line));
	refuse(&error, sizeof(error));
	refuse(&header, sizeof(header));
	refuse(&text, sizeof(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_message),       cmocka_unit_test(descriptor),
		cmocka_unit_test(several_descriptors), cmocka_unit_test(broken_messages),
		cmocka_unit_test(names_of_objects),    cmocka_unit_test(store_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
