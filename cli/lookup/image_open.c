#include "cli/lookup/image_open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/bundle.h"
#include "cli/command/message.h"
#include "cli/lookup/image_mount.h"

enum { PAGE_SIZE_MIN = 4096 };

/* The image base is known only if no function precedes it. */
static int open_file(const char *path, struct lookup_image *ret, struct gsym_diag *diag)
{
	int err = gsym_reader_open(path, &ret->opened, diag);
	if (!err)
		ret->base = gsym_reader_info(ret->opened)->base_address & ~(uint64_t)(PAGE_SIZE_MIN - 1);
	return err;
}

/* Sets the file, unless one of @size bytes of @name is not there. */
static int open_named(const char *name, size_t size, struct image_operand *operand, struct lookup_image *ret,
		      struct gsym_diag *diag)
{
	char text[PATH_MAX];
	if (size >= sizeof(text))
		return -ENAMETOOLONG;
	memcpy(text, name, size);
	text[size] = 0;
	int err = bundle_resolve(text, operand->path, diag);
	return err ? err : open_file(operand->path, ret, diag);
}

/* An id, or the only build of a name, which the mount has like the directory of its image. */
static int open_mounted(const char *name, const char *mount, struct lookup_image *ret)
{
	char by_name[PATH_MAX];
	int err = strchr(name, '/') ? -ENOENT : image_mount_open(mount, name, &ret->opened, &ret->base);
	if (err != -ENOENT || snprintf(by_name, sizeof(by_name), "by-name/%s", name) >= (int)sizeof(by_name))
		return err;
	return image_mount_open(mount, by_name, &ret->opened, &ret->base);
}

int image_find(const char *name, const struct object_options *options, struct image_operand *ret,
	       struct lookup_image *ret_image, struct gsym_diag *diag)
{
	const char *colon = strrchr(name, ':');
	struct image_operand operand = {.arch = NULL};
	struct lookup_image image = {.demangle = DEMANGLE_AUTO};
	int err = open_named(name, strlen(name), &operand, &image, diag);
	if (err == -ENOENT && options->mount) {
		int mount_err = open_mounted(name, options->mount, &image);
		operand.is_mounted = !mount_err;
		err = mount_err == -ENOENT ? err : mount_err;
	}
	if (err == -ENOENT && colon) {
		struct gsym_diag why = {""};
		operand.arch = colon + 1;
		err = open_named(name, (size_t)(colon - name), &operand, &image, &why);
		if (err != -ENOENT && diag)
			*diag = why;
	}
	image.reader = image.opened;
	*ret = operand;
	*ret_image = image;
	return err;
}

int image_convert(const struct image_operand *operand, const struct object_options *options,
		  struct lookup_image *ret, struct gsym_diag *diag)
{
	struct object_options how = *options;
	struct gsym_diag why = {""};
	how.arch = operand->arch ? operand->arch : how.arch;
	how.advice = how.advice ? how.advice : "choose one as FILE:ARCH or with --arch=ARCH";
	int err = object_lookup_open(operand->path, &how, ret, &why);
	if (err == -ENOEXEC) {
		object_lookup_explain(operand->path, diag);
		return -EBADMSG;
	}
	if (err)
		*diag = why;
	return err;
}

int image_open(const char *name, const struct object_options *options, struct lookup_image *ret,
	       struct gsym_diag *diag)
{
	struct image_operand operand;
	int err = image_find(name, options, &operand, ret, diag);
	return err == -EBADMSG ? image_convert(&operand, options, ret, diag) : err;
}

int image_open_each(int argc, char **argv, const struct object_options *options,
		    int (*use)(void *user, const char *name, const struct gsym_reader *reader), void *user)
{
	int status = options->mount ? image_mount_check(options->mount) : STATUS_OK;
	for (int i = 1; i < argc && (status == STATUS_OK || i > 1); i++) {
		struct gsym_diag diag = {""};
		struct lookup_image image;
		int err = image_open(argv[i], options, &image, &diag);
		if (err ? fail(argv[i], err, &diag) : use(user, argv[i], image.reader))
			status = STATUS_FAILED;
		if (!err)
			lookup_image_close(&image);
	}
	return status;
}
