/*
 * An object of a store: trailer, decompression, hash and signature. A frame gives no more than the trailer
 * says, an object that is damaged or of another key is refused, and one that no key signed is refused where
 * signatures are demanded. So that inputs get beyond the hash, it is mended after the first check.
 */
#include "store/client/store_object.h"
#include "tests/fuzz/expect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/file_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 256 << 10, HASH = 128 };

static int check(int fd, uint64_t size, const struct store_key *key, struct store_trust *trust)
{
	struct object_trailer trailer;
	struct gsym_diag diag = {""};
	int err = object_check(fd, size, key, trust, &trailer, &diag);
	expect(err == 0 || err == -EBADMSG || err == -EPROTO || err == -EPERM);
	expect(!err == !diag.text[0]);
	return err;
}

static void mend_hash(int fd, uint64_t size)
{
	uint8_t hash[16], *payload = malloc((size_t)size + 1);
	expect(payload && !read_all(fd, payload, (size_t)size, 0));
	XXH128_hash_t sum = XXH3_128bits(payload, (size_t)size);
	store64(hash, sum.low64, false);
	store64(hash + 8, sum.high64, false);
	expect(!write_all(fd, hash, sizeof(hash), (off_t)size + HASH));
	free(payload);
}

/* That trusts a key of which nothing is known. */
static struct store_trust *make_trust(void)
{
	static const char line[] = "gsymfs-public-1 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n";
	struct store_trust *trust;
	char path[64];
	int fd = memfd_create("keys", MFD_CLOEXEC);
	expect(fd >= 0 && !write_all(fd, line, sizeof(line) - 1, 0) && !fchmod(fd, 0600));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* stays open */
	expect(!trust_open(NULL, path, &trust, NULL));
	return trust;
}

static void check_whole(int fd, uint64_t size, struct object_trailer *t)
{
	static struct store_trust *trust;
	if (!trust)
		trust = make_trust();
	int before = check(fd, size, &t->key, NULL);
	mend_hash(fd, t->size);
	expect(check(fd, size, &t->key, NULL) == 0 && (before == 0 || before == -EBADMSG));
	expect(check(fd, size, &t->key, trust) == -EPERM);
	t->key.digest[0] ^= 1;
	expect(check(fd, size, &t->key, NULL) == -EBADMSG);
}

static void unpack_and_check(int fd, uint64_t size)
{
	struct object_trailer before, after;
	struct gsym_diag diag = {""};
	int err = object_read_trailer(fd, size, &before, &diag);
	expect(err == 0 || err == -EBADMSG || err == -EPROTO);
	int to = memfd_create("unpacked", MFD_CLOEXEC);
	expect(to >= 0);
	int then = object_unpack(fd, size, to, MOST, &after, &diag);
	off_t end = lseek(to, 0, SEEK_END);
	if (err) {
		expect(then == err && end == 0);
	} else if (then) {
		expect(then == -EBADMSG || (then == -EFBIG && before.size > MOST));
		expect(end <= MOST);
	} else {
		expect(!object_read_trailer(to, (uint64_t)end, &after, &diag));
		expect(!after.flags && after.size == before.size && after.size == end - OBJECT_TRAILER);
		expect(after.kind == before.kind && after.is_signed == before.is_signed);
		check_whole(to, (uint64_t)end, &after);
	}
	close(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("object", MFD_CLOEXEC);
	expect(fd >= 0 && !write_all(fd, data, size, 0));
	unpack_and_check(fd, size);
	close(fd);
	return 0;
}
