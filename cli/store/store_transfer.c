/* gsym store get and put: conversions of object files, taken and published. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command/message.h"
#include "cli/store/object_share.h"
#include "cli/store/store_command.h"
#include "gsym/base/vec.h"

static struct object_share_options options_of(const struct store_command *c)
{
	return (struct object_share_options){
		.arch = c->arch,
		.cache = c->cache,
		.debug_dirs = &c->debug_dirs,
		.sources = &c->sources,
		.unmerged = c->merged == TAKE_UNMERGED,
		.debuginfod = c->debuginfod,
	};
}

static int report(const char *path, int err, const struct gsym_diag *diag)
{
	return err == -ECANCELED && !diag->text[0] ? STATUS_FAILED : fail(path, err, diag);
}

static int get_object(struct object_share *o, const char *path, const char *output)
{
	CLEANUP(freep) char *made = NULL;
	struct gsym_diag diag = {""};
	struct shared_object object = {.handle = NULL};
	if (!output && asprintf(&made, "%s.gsym", path) < 0)
		return fail(path, -ENOMEM, NULL);
	int err = object_share_take(o, path, &object, &diag);
	if (err)
		return report(path, err, &diag);
	output = output ? output : made;
	err = object_share_write(object.handle, output, &diag);
	handle_put(object.handle);
	return err ? fail(output, err, &diag) : STATUS_OK;
}

int store_get(const struct store_command *c, int n, char **operands)
{
	struct object_share o;
	const struct object_share_options options = options_of(c);
	(void)n;
	int status = object_share_open(&o, operands[0], &c->session, &options);
	if (status == STATUS_OK)
		status = get_object(&o, operands[1], c->output);
	object_share_close(&o);
	return status;
}

static int put_object(struct object_share *o, const char *path, bool *ret_stopped)
{
	char key[KEY_TEXT_SIZE];
	struct gsym_diag diag = {""};
	struct shared_object object = {.handle = NULL};
	int err = object_share_put(o, path, &object, &diag);
	*ret_stopped = err == -ECANCELED;
	if (err)
		return report(path, err, &diag);
	handle_put(object.handle);
	if (object.missing)
		return fail(path, -EIO, &diag);
	session_key_text(&object.key, key);
	say(stdout, "%s  %s  %s", key, object.given ? "published" : "present", path);
	return STATUS_OK;
}

int store_put(const struct store_command *c, int n, char **operands)
{
	struct object_share o;
	const struct object_share_options options = options_of(c);
	bool stopped = false;
	int status = object_share_open(&o, operands[0], &c->session, &options);
	bool opened = status == STATUS_OK;
	for (int i = 1; opened && i < n && !stopped; i++)
		if (put_object(&o, operands[i], &stopped) != STATUS_OK)
			status = STATUS_FAILED;
	object_share_close(&o);
	return status;
}
