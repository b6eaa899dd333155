/* filter_maps.h - where modules are in memory, as options of gsym filter tell it. */
#ifndef CLI_LOOKUP_FILTER_MAPS_H
#define CLI_LOOKUP_FILTER_MAPS_H

#include "cli/command/cli_options.h"
#include "cli/lookup/image_files.h"

struct filter_maps {
	struct option_list maps;  /* files with lines of /proc/PID/maps among others */
	struct option_list pids;  /* processes */
	struct option_list cores; /* ELF core files */
	struct option_list bases; /* NAME=ADDRESS */
	const char *slide;        /* of the only image, which was given; NULL: not given */
};

/* Tells @filter of them. Prints errors and returns an enum command_status. */
int filter_maps_read(const struct command *command, const struct filter_maps *maps,
		     const struct image_files *images, struct filter *filter);

#endif
