/* gsym store verify: downloads objects and checks them as a daemon does that takes them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/message.h"
#include "cli/store/store_command.h"
#include "gsym/base/vec.h"

struct store_verification {
	struct store_session *session;
	int fd; /* what is downloaded */
	VEC(struct store_key) keys;
	unsigned long good, bad;
};

/* The 64 digits of a key, as list prints them. */
static int add_operand(struct store_verification *v, const char *text)
{
	char name[STORE_NAME_SIZE];
	struct store_key key;
	snprintf(name, sizeof(name), "gsymfs1/%.2s/%.65s.gsym", text, text);
	if (strlen(text) != KEY_TEXT_SIZE - 1 || !store_name_parse(name, &key))
		return -EINVAL;
	return vec_push(&v->keys, key);
}

/*
 * @listed: the key was found in the directory: an object that is there no longer was deleted meanwhile
 */
static int verify_key(struct store_verification *v, const struct store_key *key, bool listed)
{
	struct object_trailer trailer;
	struct gsym_diag diag = {""};
	char text[KEY_TEXT_SIZE];
	if (ftruncate(v->fd, 0))
		return fail("temporary file", -errno, NULL);
	struct store_reply reply = {0};
	int err = share_get(v->session->share, key, v->fd, &reply, &trailer, &diag);
	if (reply.err)
		session_report(err, &reply, &diag);
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

static int verify_keys(struct store_verification *v, bool listed)
{
	unsigned long missing = 0;
	for (size_t i = 0; i < v->keys.n; i++) {
		unsigned long before = v->good + v->bad;
		if (verify_key(v, &v->keys.v[i], listed) != STATUS_OK)
			return STATUS_FAILED;
		missing += !listed && v->good + v->bad == before;
	}
	printf("%s: %lu objects verified, %lu bad\n", v->session->address, v->good + v->bad, v->bad);
	return v->bad || missing ? STATUS_FAILED : STATUS_OK;
}

/* Those that a key of @signed_by signed are printed. */
static int add_listed(struct store_verification *v, const char *path, const char *signed_by)
{
	struct stored_files files;
	struct gsym_diag diag = {""};
	int status = stored_files_open(&files, path), err = 0;
	if (status == STATUS_OK && files.err)
		status = STATUS_FAILED;
	for (size_t i = 0; i < files.v.n && status == STATUS_OK && !err; i++) {
		const struct stored_file *file = &files.v.v[i];
		int wanted = !file->is_object ? 0
			     : signed_by      ? stored_file_is_signed(&files, file, signed_by, &diag)
					      : 1;
		char text[KEY_TEXT_SIZE];
		session_key_text(&file->key, text);
		if (wanted > 0 && signed_by)
			say(stdout, "%s", text);
		err = wanted < 0 ? wanted : wanted ? vec_push(&v->keys, file->key) : 0;
	}
	stored_files_close(&files);
	return err ? fail(path, err, &diag) : status;
}

static int add_operands(struct store_verification *v, int n, char **operands)
{
	static const struct gsym_diag no_key = {"no key, which has 64 digits of lower case"};
	for (int i = 0; i < n; i++) {
		int err = add_operand(v, operands[i]);
		if (err)
			return fail(operands[i], err, err == -EINVAL ? &no_key : NULL);
	}
	return STATUS_OK;
}

int store_verify(const struct store_command *c, int n, char **operands)
{
	struct store_session session;
	struct store_verification v = {.session = &session, .fd = session_temp()};
	int status = v.fd < 0 ? fail("temporary file", v.fd, NULL) : STATUS_OK;
	if (status != STATUS_OK)
		return status;
	status = n > 1 ? add_operands(&v, n - 1, operands + 1) : add_listed(&v, operands[0], c->signed_by);
	if (status == STATUS_OK) {
		status = session_open(&session, operands[0], &c->session);
		if (status == STATUS_OK)
			status = verify_keys(&v, n == 1);
		session_close(&session);
	}
	vec_free(&v.keys);
	close(v.fd);
	return status;
}
