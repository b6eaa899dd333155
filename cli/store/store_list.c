/* gsym store list: the conversions that a store has. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/message.h"
#include "cli/store/store_command.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

enum { LIST_MOST = 1 << 30 /* bytes: about ten million objects */ };

/* "name TAB size TAB seconds"; false for other names, such as those of leases. */
static bool parse_line(char *line, struct store_listed *ret)
{
	char *end;
	char *size = strchr(line, '\t');
	if (!size)
		return false;
	*size++ = 0;
	ret->size = strtoull(size, &end, 10);
	if (end == size || *end != '\t')
		return false;
	ret->modified = strtoll(end + 1, NULL, 10);
	return store_name_parse(line, &ret->key);
}

static int read_list(FILE *file, int (*take)(void *user, const struct store_listed *listed), void *user)
{
	CLEANUP(freep) char *line = NULL;
	size_t capacity = 0;
	int err = 0;
	while (!err && getline(&line, &capacity, file) > 0) {
		struct store_listed listed;
		if (parse_line(line, &listed))
			err = take(user, &listed);
	}
	return err || feof(file) ? err : -errno;
}

int store_list_each(struct store_session *session, int (*take)(void *user, const struct store_listed *listed),
		    void *user, int64_t *ret_now, struct gsym_diag *diag)
{
	struct store_reply reply = {0};
	int fd = session_temp();
	if (fd < 0)
		return diag_set(diag, fd, "cannot make a temporary file: %s", strerror(-fd));
	FILE *file = fdopen(fd, "r");
	if (!file) {
		int err = -errno;
		close(fd);
		return diag_set(diag, err, "cannot read a temporary file: %s", strerror(-err));
	}
	struct store_request request = {.operation = STORE_LIST,
					.name = session->bazel ? "ac/" : "gsymfs1/",
					.fd = fd,
					.size = LIST_MOST};
	int err = session_do(session, &request, &reply);
	if (err) {
		session_report(err, &reply, diag);
	} else {
		*ret_now = reply.now ? reply.now : (int64_t)time(NULL);
		rewind(file);
		err = read_list(file, take, user);
	}
	fclose(file);
	return err;
}

static int print_listed(void *user, const struct store_listed *listed)
{
	const int64_t *now = user;
	char key[KEY_TEXT_SIZE];
	session_key_text(&listed->key, key);
	int64_t age = *now > listed->modified ? *now - listed->modified : 0;
	printf("%s\t%" PRIu64 "\t%" PRId64 "\n", key, listed->size, age);
	return 0;
}

int store_list(const struct store_command *c, int n, char **operands)
{
	struct store_session session;
	struct gsym_diag diag = {""};
	int64_t now = 0;
	(void)n;
	int status = session_open(&session, operands[0], &c->session);
	if (status == STATUS_OK) {
		int err = store_list_each(&session, print_listed, &now, &now, &diag);
		if (err)
			status = fail(store_title(session.store), err, &diag);
	}
	session_close(&session);
	return status;
}
