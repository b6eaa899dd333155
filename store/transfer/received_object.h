/* received_object.h - objects of a store that were just received, and are hostile. */
#ifndef STORE_TRANSFER_RECEIVED_OBJECT_H
#define STORE_TRANSFER_RECEIVED_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gsym/gsym.h"

/*
 * Makes the object in @fd, of @size bytes, one that is not compressed, and decodes every record of its GSYM
 * if it is a conversion. Its hash, key and signature are left to the client.
 *
 * @most:     bytes that the object may have then
 * @canceled: ends it with -ECANCELED once it is true
 * @ret_size: that it has
 *
 * 0; -EBADMSG; -EFBIG; -ECANCELED; -ENOMEM; or the errno of reading and writing @fd.
 */
int received_object_check(int fd, uint64_t size, uint64_t most, const atomic_bool *canceled,
			  uint64_t *ret_size, struct gsym_diag *diag);

#endif
