#include "cli/lookup/image_details.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gsym/base/fault.h"
#include "work/cache/image_id.h"

struct image_details {
	struct converter converter;
	struct convert_request request;
	char *path;
	char id[ID_TEXT_SIZE];
	char arch[16];
	struct fragment_run *run;
	bool has_failed;
};

struct image_details *image_details_new(const struct converter *converter,
					const struct convert_request *request)
{
	struct image_details *d = calloc(1, sizeof(*d));
	if (!d || !(d->path = strdup(request->source.path))) {
		free(d);
		return NULL;
	}
	snprintf(d->id, sizeof(d->id), "%s", request->id);
	snprintf(d->arch, sizeof(d->arch), "%s", request->arch);
	d->converter = *converter;
	d->converter.cache = NULL;
	d->converter.stop_fd = -1; /* the worker ends with this process */
	d->request = (struct convert_request){
		.id = d->id, .arch = d->arch, .source = {d->path, request->source.state}};
	return d;
}

/* Returns whether no file is to blame, so that another run would have the details. */
static bool is_told(int err)
{
	switch (fault_of(err)) {
	case FAULT_FILE:
	case FAULT_LIMIT:
	case FAULT_NONE:
	case FAULT_ABSENT: return false;
	default: return true;
	}
}

int image_details_ask(struct image_details *d, const struct detail_question *question, run_detail_vec *ret,
		      struct gsym_diag *diag)
{
	if (!d || d->has_failed)
		return 0;
	size_t n = ret->n;
	bool has_answered;
	int err;
	do { /* a worker that has answered may have come to its limit of time: another one takes its place */
		has_answered = d->run;
		err = fragment_run_details(&d->converter, &d->request, question, &d->run, ret, diag);
		if (err) {
			run_details_cut(ret, n);
			fragment_run_end(d->run);
			d->run = NULL;
		}
	} while (err && has_answered);
	d->has_failed = err;
	return err && is_told(err) ? err : 0;
}

void image_details_free(struct image_details *d)
{
	if (!d)
		return;
	fragment_run_end(d->run);
	free(d->path);
	free(d);
}
