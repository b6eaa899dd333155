#include "cli/store/convert_shared.h"

#include <errno.h>

#include "work/cache/handle.h"
#include "cli/command/message.h"

/* The output is the GSYM that was published, or could not be: then it is written all the same. */
static int write_output(const struct convert_shared *c, const struct shared_object *object)
{
	struct gsym_diag diag = {""};
	int err = object_share_write(object->handle, c->output, &diag);
	return err ? fail(c->output, err, &diag) : STATUS_OK;
}

static void report(const struct convert_shared *c, const struct object_share *o,
		   const struct shared_object *object)
{
	char key[KEY_TEXT_SIZE];
	session_key_text(&object->key, key);
	say(stderr, "%s: %s in %s as %s", c->input, object->given ? "published" : "is already",
	    store_title(o->share.store), key);
}

static int convert_object(const struct convert_shared *c, struct object_share *o)
{
	struct gsym_diag diag = {""};
	struct shared_object object = {.handle = NULL};
	int err = object_share_put(o, c->input, &object, &diag);
	if (err)
		return err == -ECANCELED && !diag.text[0] ? STATUS_FAILED : fail(c->input, err, &diag);
	int status = write_output(c, &object);
	handle_put(object.handle);
	if (object.missing)
		status = fail(c->input, -EIO, &diag);
	else if (status == STATUS_OK && !c->quiet)
		report(c, o, &object);
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
