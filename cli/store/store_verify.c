/* gsym store verify: downloads objects and checks them as a daemon does that takes them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/message.h"
#include "cli/store/store_command.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

struct verification {
	struct store_session *session;
	int fd; /* what is downloaded */
	VEC(struct store_key) keys;
	unsigned long good, bad;
};

static int add_key(void *user, const struct store_listed *listed)
{
	struct verification *v = user;
	return vec_push(&v->keys, listed->key);
}

/* The 64 digits of a key, as list prints them. */
static int add_operand(struct verification *v, const char *text)
{
	char name[STORE_NAME_SIZE];
	struct store_key key;
	snprintf(name, sizeof(name), "ac/%s", text);
	if (strlen(text) != KEY_TEXT_SIZE - 1 || !store_name_parse(name, &key))
		return -EINVAL;
	return vec_push(&v->keys, key);
}

/*
 * @listed: the key is from the store's list: an object that is there no longer was deleted meanwhile
 */
static int verify_key(struct verification *v, const struct store_key *key, bool listed)
{
	struct object_trailer trailer;
	struct gsym_diag diag = {""};
	char text[KEY_TEXT_SIZE];
	if (ftruncate(v->fd, 0))
		return fail("temporary file", -errno, NULL);
	int err = session_take(v->session, key, v->fd, &trailer, &diag);
	if (err == -ENOENT && listed)
		return STATUS_OK;
	session_key_text(key, text);
	v->good += !err;
	v->bad += session_is_bad(err);
	if (err)
		fail(text, err, &diag);
	/* Without the store, all others would fail the same way. */
	return err && !session_is_bad(err) && err != -ENOENT ? STATUS_FAILED : STATUS_OK;
}

static int verify_keys(struct verification *v, bool listed)
{
	unsigned long missing = 0;
	for (size_t i = 0; i < v->keys.n; i++) {
		unsigned long before = v->good + v->bad;
		if (verify_key(v, &v->keys.v[i], listed) != STATUS_OK)
			return STATUS_FAILED;
		missing += !listed && v->good + v->bad == before;
	}
	printf("%s: %lu objects verified, %lu bad\n", store_title(v->session->store), v->good + v->bad,
	       v->bad);
	return v->bad || missing ? STATUS_FAILED : STATUS_OK;
}

static int find_keys(struct verification *v, int n, char **operands)
{
	struct gsym_diag diag = {""};
	int64_t now;
	int err = 0;
	for (int i = 0; i < n && !err; i++) {
		err = add_operand(v, operands[i]);
		if (err)
			return err == -EINVAL ? fail(operands[i], err,
						     &(struct gsym_diag){"no key, which has 64 "
									 "digits of lower case"})
					      : fail(operands[i], err, NULL);
	}
	if (!n)
		err = store_list_each(v->session, add_key, v, &now, &diag);
	return err ? fail(store_title(v->session->store), err, &diag) : STATUS_OK;
}

int store_verify(const struct store_command *c, int n, char **operands)
{
	struct store_session session;
	struct verification v = {.session = &session, .fd = session_temp()};
	int status = v.fd < 0 ? fail("temporary file", v.fd, NULL) : STATUS_OK;
	if (status != STATUS_OK)
		return status;
	status = session_open(&session, operands[0], &c->session);
	if (status == STATUS_OK)
		status = find_keys(&v, n - 1, operands + 1);
	if (status == STATUS_OK)
		status = verify_keys(&v, n == 1);
	vec_free(&v.keys);
	close(v.fd);
	session_close(&session);
	return status;
}
