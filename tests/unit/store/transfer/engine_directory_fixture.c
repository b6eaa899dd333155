#include "tests/unit/store/transfer/engine_directory_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/open_descriptors.h"

enum { FILE_MIN = 20, RECEIVED_MAX = 1 << 20 };

void *engine;
atomic_bool is_canceled;
unsigned n_begun;

static const struct trial *running;
static int file = -1; /* of the transfer */

static int open_engine(void **state)
{
	const struct store_options options = {.address = store_path};
	atomic_store(&is_canceled, false);
	engine = NULL;
	if (directory_engine.open(&options, &engine, NULL) == 0 && engine)
		return 0;
	end_store(state);
	return -1;
}

int begin_engine(void **state)
{
	begin_store(state);
	return open_engine(state);
}

int begin_engine_at_0(void **state)
{
	begin_store_without_stdin(state);
	return open_engine(state);
}

int begin_engine_without_stdin(void **state)
{
	const int err = begin_engine(state);
	if (!err)
		close_stdin();
	return err;
}

int end_engine(void **state)
{
	if (file >= 0)
		close(file);
	file = -1;
	directory_engine.close(engine);
	end_store(state);
	assert_int_equal(live, 0);
	return 0;
}

/* A file with a number that no other file gets. */
static int make_file(const char *bytes, size_t size)
{
	FILE *temp = tmpfile();
	assert_non_null(temp);
	assert_int_equal(fwrite(bytes, 1, size, temp), size);
	assert_int_equal(fflush(temp), 0);
	int fd = fcntl(fileno(temp), F_DUPFD_CLOEXEC, FILE_MIN);
	assert_true(fd >= 0);
	fclose(temp);
	return fd;
}

static void begun(const struct transfer *transfer)
{
	(void)transfer;
	n_begun++;
	if (running->at_begin)
		running->at_begin();
}

const struct store_reply *run_trial(const struct trial *trial, int want)
{
	static struct transfer transfer;
	const bool is_put = trial->operation == STORE_PUT;
	const char *bytes = trial->bytes ? trial->bytes : "new";
	const size_t n_bytes = !is_put ? 0 : trial->bytes ? trial->n_bytes : strlen(bytes);
	char text[512];
	if (file >= 0)
		close(file);
	file = make_file(bytes, n_bytes);
	transfer = (struct transfer){.operation = trial->operation,
				     .condition = trial->condition,
				     .name = trial->name,
				     .etag = trial->etag,
				     .fd = file,
				     .size = is_put ? (trial->size ? trial->size : n_bytes)
						    : (trial->most ? trial->most : RECEIVED_MAX),
				     .limits = {1, 1, WHOLE_MS},
				     .canceled = &is_canceled,
				     .begun = begun};
	n_begun = 0;
	running = trial;
	const unsigned n_open = count_open_descriptors();
	const long n_live = live;
	assert_int_equal(directory_engine.run(engine, &transfer), want);
	EVENT(NO_CALL);
	assert_int_equal(count_open_descriptors(), n_open);
	assert_int_equal(live, n_live);
	assert_int_equal(transfer.reply.err, want);
	snprintf(text, sizeof(text), "%s: %s", trial->name, strerror(-want));
	if (want != -ESTALE)
		assert_string_equal(transfer.reply.text, want ? text : "");
	return &transfer.reply;
}

size_t received_size(void)
{
	const off_t size = lseek(file, 0, SEEK_END);
	assert_true(size >= 0);
	return (size_t)size;
}

const char *received_bytes(void)
{
	static char bytes[RECEIVED_MAX + 1];
	lseek(file, 0, SEEK_SET);
	const ssize_t n = read(file, bytes, RECEIVED_MAX);
	assert_true(n >= 0);
	bytes[n] = 0;
	return bytes;
}

const char *head_tag(const char *name)
{
	static char tag[STORE_ETAG_SIZE];
	snprintf(tag, sizeof(tag), "%s", RUN(0, STORE_HEAD, name)->etag);
	return tag;
}
