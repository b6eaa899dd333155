#include "cli/command/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gsym/base/diag.h"
#include "gsym/base/text_buf.h"

static const char inner[] = "Contents/Resources/DWARF";

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void free_entries(struct dirent **entries, int n)
{
	while (n > 0)
		free(entries[--n]);
	free(entries);
}

static int refuse_bundle(const char *dir, struct dirent *const *entries, int n, struct gsym_diag *diag)
{
	struct text_buf names = {0};
	if (!n)
		return diag_set(diag, -ENOENT, "bundle without a file in %s", inner);
	for (int i = 0; i < n; i++) {
		text_str(&names, i ? ", " : "");
		text_str(&names, entries[i]->d_name);
	}
	text_char(&names, 0);
	int err = diag_set(diag, -ENOTUNIQ, "bundle with %d files: choose one, as %s/%s: %s", n, dir,
			   entries[0]->d_name, names.failed ? "" : names.v);
	text_deinit(&names);
	return err;
}

int bundle_resolve(const char *path, char ret[static PATH_MAX], struct gsym_diag *diag)
{
	char dir[PATH_MAX];
	struct dirent **entries;
	size_t size = strlen(path);
	while (size > 1 && path[size - 1] == '/')
		size--;
	int n = snprintf(dir, sizeof(dir), "%.*s/%s", (int)size, path, inner) < PATH_MAX
			? scandir(dir, &entries, is_shown, alphasort)
			: -1;
	if (n < 0) /* the path is used as it is, and what fails then says why */
		return snprintf(ret, PATH_MAX, "%s", path) < PATH_MAX ? 0 : -ENAMETOOLONG;
	int err = n == 1 ? 0 : refuse_bundle(dir, entries, n, diag);
	if (!err && snprintf(ret, PATH_MAX, "%s/%s", dir, entries[0]->d_name) >= PATH_MAX)
		err = -ENAMETOOLONG;
	free_entries(entries, n);
	return err;
}
