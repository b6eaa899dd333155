/*
 * builder.h - from one unit's entries and lines to function records.
 *
 * A thread has one builder and uses it for unit after unit. What outlives a unit (rows, inline trees, strings
 * of its result) is in the builder's arena and valid until the builder is freed; the rest is scratch.
 */
#ifndef CONVERT_BUILD_BUILDER_H
#define CONVERT_BUILD_BUILDER_H

#include "convert/build/build_types.h"

struct unit_builder;

/* NULL without memory. @context is borrowed. */
struct unit_builder *builder_new(const struct build_context *context);
void builder_free(struct unit_builder *builder);

/* Builds the records of unit @index. Warnings are counted in the builder. */
void builder_unit(struct unit_builder *builder, size_t index, struct unit_result *ret);

/* The same for the unit of @header, which need not be listed in its file. */
void builder_unit_of(struct unit_builder *builder, const struct unit_header *header, size_t index,
		     struct unit_result *ret);

const struct warnings *builder_warnings(const struct unit_builder *builder);

/* Whether some unit so far was written in Ada. */
bool builder_has_ada(const struct unit_builder *builder);

/* Steps of work so far (budget.h), and bytes of input in split units. */
uint64_t builder_work(const struct unit_builder *builder);
uint64_t builder_split_input(const struct unit_builder *builder);

#endif
