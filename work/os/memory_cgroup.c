/* The files of cgroups(7), version 2 and 1; a host may have both mounted, and the memory in one of them. */
#include "work/os/memory_cgroup.h"

#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_MAX = 2 * PATH_MAX };

/* A version: its file system, the line of /proc/PID/cgroup, and the file with the limit. */
struct version {
	const char *type, *controller, *file;
};

static const struct version versions[] = {
	{"cgroup2", "", "memory.max"},
	{"cgroup", "memory", "memory.limit_in_bytes"},
};

/* The limit in the directory @group; UINT64_MAX if there is none. */
static uint64_t limit_of(const char *group, const char *file)
{
	char path[GROUP_MAX + 32];
	unsigned long long limit;
	snprintf(path, sizeof(path), "%s/%s", group, file);
	FILE *from = fopen(path, "re");
	bool found = from && fscanf(from, "%llu", &limit) == 1; /* not "max" */
	if (from)
		fclose(from);
	return found ? limit : UINT64_MAX;
}

/* The path of this process's group from the root of the hierarchy of @controller; "" if it is in none. */
static void find_group(const char *controller, char ret[static PATH_MAX])
{
	char line[PATH_MAX + 256];
	FILE *from = fopen("/proc/self/cgroup", "re");
	*ret = 0;
	while (from && fgets(line, sizeof(line), from)) {
		char *save = line, *number = strsep(&save, ":"), *names = strsep(&save, ":");
		bool is_it = number && names && save && strcmp(names, controller) == 0;
		if (is_it && strlen(save) < PATH_MAX)
			strcpy(ret, strsep(&save, "\n"));
	}
	if (from)
		fclose(from);
}

/* The least limit of the group and of those above it, up to what is mounted at @top. */
static uint64_t limit_below(const char *top, const struct version *version)
{
	char group[PATH_MAX], path[GROUP_MAX];
	uint64_t least = UINT64_MAX;
	find_group(version->controller, group);
	snprintf(path, sizeof(path), "%s%s", top, group);
	for (;;) {
		uint64_t limit = limit_of(path, version->file);
		least = limit < least ? limit : least;
		if (strlen(path) <= strlen(top))
			return least;
		*strrchr(path, '/') = 0;
	}
}

uint64_t memory_cgroup_share(uint64_t wanted)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *entry;
	while (mounts && (entry = getmntent(mounts)))
		for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
			const struct version *v = &versions[i];
			if (strcmp(entry->mnt_type, v->type) != 0 ||
			    (*v->controller && !hasmntopt(entry, v->controller)))
				continue;
			uint64_t limit = limit_below(entry->mnt_dir, v), share = limit - limit / 4;
			wanted = share < wanted ? share : wanted;
		}
	if (mounts)
		endmntent(mounts);
	return wanted;
}
