/*
 * htlhash.h - the id that OpenTelemetry's profiles give any executable: the first half of the SHA-256 of its
 * head, its tail and its length ("process.executable.build_id.htlhash").
 */
#ifndef CONVERT_IDENTITY_HTLHASH_H
#define CONVERT_IDENTITY_HTLHASH_H

#include "work/types/image_identity.h"
#include "gsym/base/bytes.h"

void htlhash(struct span file, uint8_t ret[static HTLHASH_SIZE]);

#endif
