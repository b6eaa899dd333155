/* gsym store get and put: conversions of object files, taken and published. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command/message.h"
#include "cli/store/convert_shared.h"
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

/* ---- gsym convert --shared ---- */

/* The output is the GSYM that was published, or could not be: then it is written all the same. */
static int write_output(const struct convert_shared *c, const struct shared_object *object)
{
	struct gsym_diag diag = {""};
	int err = object_share_write(object->handle, c->output, &diag);
	return err ? fail(c->output, err, &diag) : STATUS_OK;
}

static void report_published(const struct convert_shared *c, const struct object_share *o,
			     const struct shared_object *object)
{
	char key[KEY_TEXT_SIZE];
	session_key_text(&object->key, key);
	say(stderr, "%s: %s in %s as %s", c->input, object->given ? "published" : "is already", o->address,
	    key);
}

static int convert_object(const struct convert_shared *c, struct object_share *o)
{
	struct gsym_diag diag = {""};
	struct shared_object object = {.handle = NULL};
	int err = object_share_put(o, c->input, &object, &diag);
	if (err)
		return report(c->input, err, &diag);
	int status = write_output(c, &object);
	handle_put(object.handle);
	if (object.missing)
		status = fail(c->input, -EIO, &diag);
	else if (status == STATUS_OK && !c->quiet)
		report_published(c, o, &object);
	return status;
}

int convert_shared(const struct convert_shared *c)
{
	struct object_share o;
	int status = object_share_open(&o, c->address, &c->session, &c->object);
	if (status == STATUS_OK)
		status = convert_object(c, &o);
	object_share_close(&o);
	return status;
}
