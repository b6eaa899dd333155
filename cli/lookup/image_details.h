/* image_details.h - what GSYM does not hold of the addresses of an image, from its object file. */
#ifndef CLI_LOOKUP_IMAGE_DETAILS_H
#define CLI_LOOKUP_IMAGE_DETAILS_H

#include "work/run/fragment_run.h"

struct image_details;

/*
 * @converter, @request: for the worker that reads the file, which is started when it is asked; strings of
 *                       @request are copied, all else is borrowed
 *
 * NULL without memory.
 */
struct image_details *image_details_new(const struct converter *converter,
					const struct convert_request *request);

/*
 * Appends the details of the frames at a link-time address to @ret, the innermost first, or that of the
 * variable; none if the file has none, or is not as it was. 0, or once the negative errno of a fault that is
 * not the file's, with the text in @diag: then and later there are no details.
 */
int image_details_ask(struct image_details *details, const struct detail_question *question,
		      run_detail_vec *ret, struct gsym_diag *diag);

/* NULL is allowed. */
void image_details_free(struct image_details *details);

#endif
