/*
 * slots.h - objects by number. Numbers ascend and are never used again, and what was removed takes no memory:
 * they are kept in pages, which are freed with their last object.
 *
 * No locks; the owner guards it. The objects are the owner's.
 */
#ifndef FS_SYS_SLOTS_H
#define FS_SYS_SLOTS_H

#include <stdint.h>

#include "gsym/base/vec.h"

struct slots_page;

/* Zero-initialised is empty. */
struct slots {
	VEC(struct slots_page *) pages;
	uint32_t next; /* number */
	uint32_t n;    /* objects there are */
};

/* Adds @object and tells its number. 0, or -ENOMEM also when there are no more numbers. */
int slots_add(struct slots *slots, void *object, uint32_t *ret);

/* The object of that number; NULL if it was removed, or never added. */
void *slots_get(const struct slots *slots, uint32_t number);

/* The first one from *@number on, whose number becomes *@number; NULL: there is none. */
void *slots_from(const struct slots *slots, uint32_t *number);

void slots_remove(struct slots *slots, uint32_t number);

void slots_deinit(struct slots *slots);

#endif
