#include "convert/cli/shared/convert_shared.h"

#include <errno.h>

#include "convert/cache/handle.h"
#include "convert/cli/message.h"

/* The output is the GSYM that was published. */
static int conclude(const struct convert_shared *c, const struct object_share *o,
		    const struct shared_object *object)
{
	char key[KEY_TEXT_SIZE];
	struct gsym_diag diag = {""};
	int err = object_share_write(object->handle, c->output, &diag);
	if (err)
		return fail(c->output, err, &diag);
	session_key_text(&object->key, key);
	if (!c->quiet)
		say(stderr, "%s: %s in %s as %s", c->input, object->given ? "published" : "is already",
		    store_title(o->share.store), key);
	return STATUS_OK;
}

static int convert_object(const struct convert_shared *c, struct object_share *o)
{
	struct gsym_diag diag = {""};
	struct shared_object object = {.handle = NULL};
	int err = object_share_put(o, c->input, &object, &diag);
	if (err)
		return err == -ECANCELED && !diag.text[0] ? STATUS_FAILED : fail(c->input, err, &diag);
	int status = conclude(c, o, &object);
	handle_put(object.handle);
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
