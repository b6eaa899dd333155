/* Messages between daemon and worker: whole ones arrive, others are refused. */
#include "work/types/convert_types.h"
#include "work/types/image_identity.h"
#include "work/worker/worker.h"
#include "gsym/base/bytes.h"
#include "tests/lib/unit.h"
#include "tests/unit/open_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void make_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static void close_pair(int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

TEST(whole_message)
{
	int pair[2];
	union worker_message got;
	struct worker_failed m = {
		.head.serial = 77, .error = EBADMSG, .text = ".debug_line+0x10: expected a version"};
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

TEST(descriptor)
{
	int pair[2], fd;
	union worker_message got;
	struct worker_identify m = {.head.serial = 1};
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
TEST(several_descriptors)
{
	int pair[2], fd;
	union worker_message got;
	struct worker_opened m = {.head = {WORKER_OPENED, sizeof(m), 0}};
	make_pair(pair);
	unsigned before = count_open_descriptors();
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
	assert_int_equal(count_open_descriptors(), before);
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

/* A message of @type that is whole but for these members. */
#define REFUSE(name, type, ...) \
	refuse(&(struct name){.head = {type, sizeof(struct name), 0}, __VA_ARGS__}, sizeof(struct name))

/* What has no bound or end of its own, which are tested below. */
TEST(broken_messages)
{
	struct worker_header head = {.type = WORKER_DONE, .size = sizeof(struct worker_done)};
	struct worker_progress progress = {.head = {WORKER_PROGRESS, sizeof(progress), 0}, .total = 1};
	struct worker_download endless = {
		.head = {WORKER_DOWNLOAD, sizeof(endless), 0}, .id_size = 20, .seconds = 1};
	static const char large[sizeof(union worker_message) + 100];
	REFUSE(worker_progress, WORKER_PROGRESS, .phase = 9);
	REFUSE(worker_failed, WORKER_FAILED, .error = ENOMEM, .at_limit = 2);
	REFUSE(worker_identity, WORKER_IDENTITY, .kind = 1, .id_size = 20, .go_id = "redacted");
	REFUSE(worker_identity, WORKER_IDENTITY, .kind = 1, .id_size = 20, .name = "a/b");
	REFUSE(worker_identity, WORKER_IDENTITY, .kind = 1);
	REFUSE(worker_fetch, WORKER_FETCH, .id_size = 0);
	REFUSE(worker_download, WORKER_DOWNLOAD, .id_size = 20, .seconds = 1, .directory = "relative");
	REFUSE(worker_ask, WORKER_ASK, .n_asked = 0);
	memset(endless.directory, '/', sizeof(endless.directory));
	refuse(&endless, sizeof(endless));
	refuse("x", 1);
	refuse(&head, sizeof(head));
	refuse(&progress, sizeof(progress) - 1);
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
TEST(names_of_objects)
{
	static const char *const bad[] = {"/a", "a/",  ".",    "..", "a/../b", "../a",  "a//b", "a/.b",
					  ".a", "a b", "a\nb", "A",  "a?b",    "a%2fb", "",     "\xff"};
	static const char *const good[] = {"a", "a.b", "a..b", "a-b/c", "ac/0123", "-"};
	struct worker_request m = store_request();
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		strcpy(m.name, bad[i]);
		refuse(&m, sizeof(m));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		strcpy(m.name, good[i]);
		take(&m, sizeof(m));
	}
	memset(m.name, 'x', sizeof(m.name));
	refuse(&m, sizeof(m));
}

TEST(store_messages)
{
	struct worker_cancel cancel = {.head = {WORKER_CANCEL, sizeof(cancel), 7}};
	struct worker_begun begun = {.head = {WORKER_BEGUN, sizeof(begun), 7}};
	struct worker_request no_limit = store_request(), no_tag = no_limit, line = no_limit;
	take(&cancel, sizeof(cancel));
	take(&begun, sizeof(begun));
	no_limit.ms = 0;
	no_tag.condition = WORKER_STORE_IF_MATCH;
	strcpy(line.etag, "\"a\"\r\nHost: x");
	refuse(&no_limit, sizeof(no_limit));
	refuse(&no_tag, sizeof(no_tag));
	refuse(&line, sizeof(line));
	REFUSE(worker_store, WORKER_STORE, .address = "");
}

/* A number of a message, and the highest value that is taken. */
struct bound {
	size_t off, size;
	uint64_t most;
};

#define BOUND(type, member, most)                                                          \
	{                                                                                  \
		offsetof(struct type, member), sizeof(((struct type *)NULL)->member), most \
	}

/* In the host's byte order. */
static void store_number(char *to, size_t size, uint64_t v)
{
	memcpy(to, (const char *)&v + (HOST_BIG_ENDIAN ? sizeof(v) - size : 0), size);
}

/* Refuses what is above the bound, and, as long as it is no sign bit, what has its highest bit set. */
static void assert_bounds(const void *message, size_t size, const struct bound *bounds, size_t n)
{
	take(message, size);
	for (size_t i = 0; i < n; i++) {
		union worker_message msg;
		uint64_t values[] = {bounds[i].most, bounds[i].most + 1,
				     (uint64_t)1 << (8 * bounds[i].size - 1)};
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++) {
			memcpy(&msg, message, size);
			store_number((char *)&msg + bounds[i].off, bounds[i].size, values[k]);
			assert_int_equal(worker_message_check(&msg, size), k ? -EPROTO : 0);
		}
	}
}

/* Texts must end within their members. */
static void assert_terminated(const void *message, size_t size, const struct bound *texts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		union worker_message msg;
		memcpy(&msg, message, size);
		memset((char *)&msg + texts[i].off, 'x', texts[i].size - 1);
		if (texts[i].most)
			assert_int_equal(worker_message_check(&msg, size), 0);
		((char *)&msg)[texts[i].off + texts[i].size - 1] = 'x';
		assert_int_equal(worker_message_check(&msg, size), -EPROTO);
	}
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

TEST(bounds_of_orders)
{
	struct worker_convert order = {
		.head = {WORKER_CONVERT, sizeof(order), 0}, .threads = 1, .n_asked = 2};
	static const struct bound numbers[] = {BOUND(worker_convert, threads, 1024),
					       BOUND(worker_convert, version, 2),
					       BOUND(worker_convert, has_binary, 1),
					       BOUND(worker_convert, fetch, 1),
					       BOUND(worker_convert, id_size, 64),
					       BOUND(worker_convert, merged, 1),
					       BOUND(worker_convert, purpose, WORKER_PURPOSES - 1),
					       BOUND(worker_convert, n_asked, WORKER_ASKED_MAX),
					       BOUND(worker_convert, asked[0].origin, ADDRESS_ORIGINS - 1),
					       BOUND(worker_convert, asked[1].origin, ADDRESS_ORIGINS - 1)};
	static const struct bound texts[] = {BOUND(worker_convert, arch, 1), BOUND(worker_convert, input, 1),
					     BOUND(worker_convert, binary, 1),
					     BOUND(worker_convert, debug_dirs, 0)};
	struct worker_ask ask = {.head = {WORKER_ASK, sizeof(ask), 0}, .n_asked = 1};
	static const struct bound asked[] = {BOUND(worker_ask, n_asked, WORKER_ASKED_MAX),
					     BOUND(worker_ask, is_data, 1),
					     BOUND(worker_ask, asked[0].origin, ADDRESS_ORIGINS - 1)};
	struct worker_fork fork = {.head = {WORKER_FORK, sizeof(fork), 0}};
	static const struct bound forked[] = {BOUND(worker_fork, n_fds, WORKER_FDS_MAX)};
	struct worker_download download = {
		.head = {WORKER_DOWNLOAD, sizeof(download), 0}, .id_size = 1, .seconds = 1, .directory = "/"};
	static const struct bound fetched[] = {BOUND(worker_download, id_size, 64),
					       BOUND(worker_download, partial, 1)};
	static const struct bound places[] = {BOUND(worker_download, urls, 1)};
	assert_bounds(&order, sizeof(order), numbers, COUNT(numbers));
	assert_terminated(&order, sizeof(order), texts, COUNT(texts));
	assert_bounds(&ask, sizeof(ask), asked, COUNT(asked));
	assert_bounds(&fork, sizeof(fork), forked, COUNT(forked));
	assert_bounds(&download, sizeof(download), fetched, COUNT(fetched));
	assert_terminated(&download, sizeof(download), places, COUNT(places));
	order.threads = 0;
	refuse(&order, sizeof(order));
	download.seconds = 0;
	refuse(&download, sizeof(download));
	download.seconds = 1;
	download.id_size = 0;
	refuse(&download, sizeof(download));
}

/* A list of directories ends with an empty one, which needs no more than the last byte. */
TEST(lists_of_directories)
{
	struct worker_convert order = {.head = {WORKER_CONVERT, sizeof(order), 0}, .threads = 1};
	size_t size = sizeof(order.debug_dirs);
	take(&order, sizeof(order));
	memcpy(order.debug_dirs, "/a\0/b\0", 7);
	take(&order, sizeof(order));
	memset(order.debug_dirs, 'x', size - 2);
	order.debug_dirs[size - 2] = order.debug_dirs[size - 1] = 0;
	take(&order, sizeof(order));
	memset(order.debug_dirs, 'x', size);
	refuse(&order, sizeof(order));
	order.debug_dirs[1] = 0;
	refuse(&order, sizeof(order));
}

TEST(bounds_of_answers)
{
	struct worker_identity id = {.head = {WORKER_IDENTITY, sizeof(id), 0}, .kind = 1, .id_size = 1};
	static const struct bound numbers[] = {
		BOUND(worker_identity, error, 4095),   BOUND(worker_identity, kind, IMAGE_KIND_LAST),
		BOUND(worker_identity, id_size, 64),   BOUND(worker_identity, more, 1),
		BOUND(worker_identity, id_is_hash, 1), BOUND(worker_identity, id_is_truncated, 1),
		BOUND(worker_identity, has_dwarf, 1),  BOUND(worker_identity, has_symtab, 1),
		BOUND(worker_identity, has_text, 1),   BOUND(worker_identity, has_gsym, 1),
		BOUND(worker_identity, has_go, 1),     BOUND(worker_identity, has_lost, 1)};
	static const struct bound texts[] = {BOUND(worker_identity, arch, 1), BOUND(worker_identity, name, 1),
					     BOUND(worker_identity, text, 1),
					     BOUND(worker_identity, go_id, 0)};
	struct worker_progress progress = {.head = {WORKER_PROGRESS, sizeof(progress), 0},
					   .phase = CONVERT_READING,
					   .done = 7,
					   .total = 7};
	static const struct bound done[] = {BOUND(worker_progress, done, 7)};
	struct worker_failed failed = {.head = {WORKER_FAILED, sizeof(failed), 0}, .error = 1};
	static const struct bound error[] = {BOUND(worker_failed, error, 4095)};
	static const struct bound text[] = {BOUND(worker_failed, text, 1)};
	struct worker_opened opened = {.head = {WORKER_OPENED, sizeof(opened), 0}};
	static const struct bound opening[] = {BOUND(worker_opened, error, 4095)};
	struct worker_fetch fetch = {.head = {WORKER_FETCH, sizeof(fetch), 0}, .id_size = 1};
	static const struct bound id_size[] = {BOUND(worker_fetch, id_size, 64)};
	struct worker_fragment fragment = {.head = {WORKER_FRAGMENT, sizeof(fragment), 0}};
	struct worker_detail detail = {.head = {WORKER_DETAIL, sizeof(detail), 0}, .has_frame = 1};
	static const struct bound frame[] = {BOUND(worker_detail, has_start, 1),
					     BOUND(worker_detail, more, 1),
					     BOUND(worker_detail, source_size, WORKER_PATH_MAX)};
	static const struct bound paths[] = {BOUND(worker_detail, start_dir, 1),
					     BOUND(worker_detail, start_base, 1)};
	static const struct bound parts[] = {BOUND(worker_fragment, has_ada, 1),
					     BOUND(worker_fragment, n_segments, WORKER_SEGMENTS_MAX)};
	assert_bounds(&id, sizeof(id), numbers, COUNT(numbers));
	assert_terminated(&id, sizeof(id), texts, COUNT(texts));
	assert_bounds(&progress, sizeof(progress), done, COUNT(done));
	progress.phase = CONVERT_WRITING;
	take(&progress, sizeof(progress));
	assert_bounds(&failed, sizeof(failed), error, COUNT(error));
	assert_terminated(&failed, sizeof(failed), text, COUNT(text));
	failed.error = 0;
	refuse(&failed, sizeof(failed));
	assert_bounds(&opened, sizeof(opened), opening, COUNT(opening));
	assert_bounds(&fetch, sizeof(fetch), id_size, COUNT(id_size));
	assert_bounds(&fragment, sizeof(fragment), parts, COUNT(parts));
	assert_bounds(&detail, sizeof(detail), frame, COUNT(frame));
	assert_terminated(&detail, sizeof(detail), paths, COUNT(paths));
	detail.more = 1;
	take(&detail, sizeof(detail));
	detail.has_frame = 0;
	refuse(&detail, sizeof(detail));
	/* What has no id is no image, or could not be read. */
	id.id_size = 0;
	refuse(&id, sizeof(id));
	id.error = EIO;
	take(&id, sizeof(id));
	id.error = 0;
	id.kind = IMAGE_OTHER;
	take(&id, sizeof(id));
}

TEST(texts_of_answers)
{
	struct worker_warning warning = {.head = {WORKER_WARNING, sizeof(warning), 0}};
	static const struct bound of_warning[] = {BOUND(worker_warning, kind, 1),
						  BOUND(worker_warning, first, 1)};
	struct worker_done done = {.head = {WORKER_DONE, sizeof(done), 0}};
	static const struct bound of_done[] = {BOUND(worker_done, arch, 1),
					       BOUND(worker_done, bounded_by, 1)};
	struct worker_missing missing = {.head = {WORKER_MISSING, sizeof(missing), 0}};
	static const struct bound of_missing[] = {BOUND(worker_missing, name, 1)};
	struct worker_section section = {.head = {WORKER_SECTION, sizeof(section), 0}};
	static const struct bound of_section[] = {BOUND(worker_section, name, 1)};
	struct worker_open open = {.head = {WORKER_OPEN, sizeof(open), 0}};
	static const struct bound of_open[] = {BOUND(worker_open, path, 1)};
	assert_terminated(&warning, sizeof(warning), of_warning, COUNT(of_warning));
	assert_terminated(&done, sizeof(done), of_done, COUNT(of_done));
	assert_terminated(&missing, sizeof(missing), of_missing, COUNT(of_missing));
	assert_terminated(&section, sizeof(section), of_section, COUNT(of_section));
	assert_terminated(&open, sizeof(open), of_open, COUNT(of_open));
}

TEST(bounds_of_stores)
{
	struct worker_store store = {.head = {WORKER_STORE, sizeof(store), 0}, .address = "/dir"};
	static const struct bound texts[] = {
		BOUND(worker_store, address, 1),    BOUND(worker_store, bearer_file, 1),
		BOUND(worker_store, netrc_file, 1), BOUND(worker_store, cert_file, 1),
		BOUND(worker_store, key_file, 1),   BOUND(worker_store, ca_file, 1)};
	struct worker_request request = store_request();
	static const struct bound asked[] = {BOUND(worker_request, operation, WORKER_STORE_DELETE),
					     BOUND(worker_request, object, 1)};
	static const struct bound tags[] = {BOUND(worker_request, name, 1), BOUND(worker_request, etag, 1)};
	struct worker_reply reply = {.head = {WORKER_REPLY, sizeof(reply), 0}};
	static const struct bound replied[] = {BOUND(worker_reply, error, 4095)};
	static const struct bound said[] = {BOUND(worker_reply, etag, 1), BOUND(worker_reply, text, 1)};
	assert_terminated(&store, sizeof(store), texts, COUNT(texts));
	assert_bounds(&request, sizeof(request), asked, COUNT(asked));
	assert_terminated(&request, sizeof(request), tags, COUNT(tags));
	strcpy(request.etag, "\"~!\"");
	static const struct bound conditions[] = {BOUND(worker_request, condition, WORKER_STORE_IF_MATCH)};
	assert_bounds(&request, sizeof(request), conditions, COUNT(conditions));
	assert_bounds(&reply, sizeof(reply), replied, COUNT(replied));
	assert_terminated(&reply, sizeof(reply), said, COUNT(said));
	for (int c = 1; c < 256; c++) {
		reply.etag[0] = (char)c;
		if (c > ' ' && c < 0x7f)
			take(&reply, sizeof(reply));
		else
			refuse(&reply, sizeof(reply));
	}
}
