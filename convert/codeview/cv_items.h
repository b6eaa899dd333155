/*
 * cv_items.h - names of inlined functions, by the numbers of their items ("ids") in the IPI stream.
 *
 * An item is a function with the scope it is in, or a member function with its class, which is a type of the
 * TPI stream. Where the records of both streams begin is found once; names are made when a module asks first.
 */
#ifndef CONVERT_CODEVIEW_CV_ITEMS_H
#define CONVERT_CODEVIEW_CV_ITEMS_H

#include "convert/object/pdb/pdb.h"
#include "convert/record/budget.h"
#include "convert/record/oddity.h"
#include "convert/record/pool.h"

/* A qualified name, made of a scope, "::" and a name. */
struct cv_item_name {
	struct pool_string string;
	uint32_t scope; /* bytes of the scope's name; 0: none */
};

/* The records of a TPI or IPI stream. */
struct cv_record_table {
	struct pdb_bytes stream;
	uint32_t first, n; /* numbers of the records */
	uint32_t *offs;    /* where each begins in the stream */
};

struct cv_items {
	struct cv_record_table items, types;
	_Atomic(const struct cv_item_name *) *names; /* of each item; NULL: not made yet */
};

/* Reads both streams, by two threads. What is damaged is left out, and counted. 0 or -ENOMEM. */
int cv_items_open(const struct object_file *pdb, unsigned threads, struct oddities *odd,
		  struct cv_items *ret);
void cv_items_close(struct cv_items *items);

/*
 * The name of @item. Any thread; what it costs is the same whether the name was made before.
 *
 * @arena:  for a name that was not made before; it outlives @items
 * @budget: of the module that asks
 * @ret:    of the result, as long as the arenas of all threads
 *
 * 0; -ENOENT: there is no such item, or it is damaged or exceeds the budget; -ENOMEM.
 */
int cv_item_name(struct cv_items *items, uint32_t item, struct arena *arena, struct name_budget *budget,
		 const struct cv_item_name **ret);

#endif
