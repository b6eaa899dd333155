/* Files of keys: who may have written and read them, what is a key, and that they can be replaced. */
#include "store/client/store_trust.h"

#include <errno.h>
#include <stddef.h>

#include "tests/lib/unit.h"
#include "tests/unit/store/client/key_files.h"

#define OTHER_PUBLIC "gsymfs-public-1 PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw= other\n"
#define KEY_END      "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="

static const uint8_t message[] = "message";

static int try_open(const char *sign_key, const char *trusted_keys, struct gsym_diag *diag)
{
	struct store_trust *trust = NULL;
	diag->text[0] = 0;
	int err = trust_open(sign_key, trusted_keys, &trust, diag);
	assert_true(err ? !trust && diag->text[0] : !!trust);
	trust_close(trust);
	return err;
}

/* The signature of an empty message in RFC 8032, 7.1. */
TEST_OF(known_signature, struct key_files, files)
{
	static const uint8_t expected[64] = {0xe5, 0x56, 0x43, 0x00, 0xc3, 0x60, 0xac, 0x72, 0x90, 0x86, 0xe2,
					     0xcc, 0x80, 0x6e, 0x82, 0x8a, 0x84, 0x87, 0x7f, 0x1e, 0xb8, 0xe5,
					     0xd9, 0x74, 0xd8, 0x73, 0xe0, 0x65, 0x22, 0x49, 0x01, 0x55, 0x5f,
					     0xb8, 0x82, 0x15, 0x90, 0xa3, 0x3b, 0xac, 0xc6, 0x1e, 0x39, 0x70,
					     0x1c, 0xf9, 0xb4, 0x6b, 0xd2, 0x5b, 0xf5, 0xf0, 0x59, 0x5b, 0xbe,
					     0x24, 0x65, 0x51, 0x41, 0x43, 0x8e, 0x7a, 0x10, 0x0b};
	struct store_trust *trust;
	uint8_t signer[32], signature[64];
	write_keys(files->secret, "# of a test\n\n  " KNOWN_SECRET, 0600);
	assert_int_equal(trust_open(files->secret, NULL, &trust, NULL), 0);
	assert_true(trust_signs(trust));
	assert_false(trust_is_demanded(trust));
	assert_int_equal(trust_sign(trust, message, 0, signer, signature, NULL), 1);
	assert_memory_equal(signer, known_public, sizeof(signer));
	assert_memory_equal(signature, expected, sizeof(signature));
	trust_close(trust);
}

TEST(no_keys)
{
	struct store_trust *trust;
	uint8_t signer[32] = {0}, signature[64] = {0};
	assert_int_equal(trust_open(NULL, NULL, &trust, NULL), 0);
	assert_int_equal(trust_sign(trust, message, sizeof(message), signer, signature, NULL), 0);
	assert_int_equal(trust_verify(trust, message, sizeof(message), signer, signature, NULL), 0);
	trust_close(trust);
	trust_close(NULL);
	assert_false(trust_is_demanded(NULL) || trust_signs(NULL));
}

TEST_OF(made_keys, struct key_files, files)
{
	struct store_trust *trust;
	struct gsym_diag diag;
	char secret[128], public[128], another[128];
	uint8_t signer[32], signature[64];
	assert_int_equal(trust_make_key(secret, public, NULL), 0);
	assert_int_equal(trust_make_key(another, public, NULL), 0);
	assert_string_not_equal(secret, another);
	write_keys(files->secret, another, 0400);
	write_keys(files->trusted, public, 0444);
	assert_int_equal(trust_open(files->secret, files->trusted, &trust, &diag), 0);
	assert_int_equal(trust_sign(trust, message, sizeof(message), signer, signature, &diag), 1);
	assert_int_equal(trust_verify(trust, message, sizeof(message), signer, signature, &diag), 0);
	assert_int_equal(trust_verify(trust, message, sizeof(message) - 1, signer, signature, &diag), -EPERM);
	for (size_t i = 0; i < sizeof(signature); i++) {
		signature[i] ^= 1;
		assert_int_equal(trust_verify(trust, message, sizeof(message), signer, signature, &diag),
				 -EPERM);
		signature[i] ^= 1;
	}
	trust_close(trust);
}

TEST_OF(several_keys, struct key_files, files)
{
	struct store_trust *trust;
	uint8_t signer[32], signature[64];
	write_keys(files->secret, KNOWN_SECRET, 0600);
	write_keys(files->trusted, "# those of the hosts\r\n" OTHER_PUBLIC "\t" KNOWN_PUBLIC, 0644);
	assert_int_equal(trust_open(files->secret, files->trusted, &trust, NULL), 0);
	assert_int_equal(trust_sign(trust, message, sizeof(message), signer, signature, NULL), 1);
	assert_int_equal(trust_verify(trust, message, sizeof(message), signer, signature, NULL), 0);
	trust_close(trust);
}

TEST_OF(permissions, struct key_files, files)
{
	static const struct {
		mode_t mode;
		int secret, trusted;
	} modes[] = {{0600, 0, 0},           {0400, 0, 0},           {0640, -EPERM, 0},
		     {0604, -EPERM, 0},      {0644, -EPERM, 0},      {0610, -EPERM, 0},
		     {0620, -EPERM, -EPERM}, {0602, -EPERM, -EPERM}, {0666, -EPERM, -EPERM}};
	struct gsym_diag diag;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		write_keys(files->secret, KNOWN_SECRET, modes[i].mode);
		write_keys(files->trusted, KNOWN_PUBLIC, modes[i].mode);
		assert_int_equal(try_open(files->secret, NULL, &diag), modes[i].secret);
		assert_int_equal(try_open(NULL, files->trusted, &diag), modes[i].trusted);
	}
	assert_int_equal(try_open(files->dir, NULL, &diag), -EPERM);
	unlink(files->secret);
	assert_int_equal(try_open(files->secret, NULL, &diag), -ENOENT);
	assert_non_null(strstr(diag.text, files->secret));
	assert_int_equal(mkfifo(files->secret, 0600), 0);
	assert_int_equal(try_open(files->secret, NULL, &diag), -EPERM); /* and does not wait */
	write_keys(files->trusted, KNOWN_PUBLIC, 0600);
	if (geteuid() != 0 || chown(files->trusted, 12345, 12345))
		return;
	assert_int_equal(try_open(NULL, files->trusted, &diag), -EPERM);
}

/* What is no key is named by file and line; what it holds is not part of the message. */
TEST_OF(no_such_key, struct key_files, files)
{
	static const struct {
		const char *text;
		unsigned line; /* 0: the message has none */
	} secrets[] = {
		{"", 0},
		{"# nothing\n\n", 0},
		{KNOWN_PUBLIC, 1},
		{KEY_END "\n", 1},
		{"\ngsymfs-secret-1\n", 2},
		{"gsymfs-secret-1 \n", 1},
		{"gsymfs-secret-2 " KEY_END "\n", 1},
		{"gsymfs-secret-1" KEY_END "\n", 1},
		{"gsymfs-secret-1 nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2\n", 1},
		{"gsymfs-secret-1 AA" KEY_END "\n", 1},
		{"gsymfs-secret-1 " KEY_END "nWGxne/9WmC6\n", 1},
		{"gsymfs-secret-1 " KEY_END " more nWGxne/9WmC6\n", 1},
		{KNOWN_SECRET "#\n" KNOWN_SECRET, 3},
		{KNOWN_SECRET "nWGxne/9WmC6\n", 2},
	};
	struct gsym_diag diag;
	char line[32];
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		write_keys(files->secret, secrets[i].text, 0600);
		assert_int_equal(try_open(files->secret, NULL, &diag), -EBADMSG);
		assert_non_null(strstr(diag.text, files->secret));
		snprintf(line, sizeof(line), "line %u:", secrets[i].line);
		assert_true(secrets[i].line ? !!strstr(diag.text, line) : !strstr(diag.text, "line"));
		assert_null(strstr(diag.text, "nWGxne"));
	}
	write_bytes(files->secret, KNOWN_SECRET "\0", sizeof(KNOWN_SECRET), 0600);
	assert_int_equal(try_open(files->secret, NULL, &diag), -EBADMSG);
	assert_null(strstr(diag.text, "nWGxne"));
	/* A secret among the public keys. */
	write_keys(files->trusted, KNOWN_PUBLIC KNOWN_SECRET, 0600);
	assert_int_equal(try_open(NULL, files->trusted, &diag), -EBADMSG);
	assert_non_null(strstr(diag.text, "line 2:"));
	assert_null(strstr(diag.text, "nWGxne"));
	write_keys(files->trusted, "# none\n", 0600);
	assert_int_equal(try_open(NULL, files->trusted, &diag), -EBADMSG);
}

TEST_OF(large_file, struct key_files, files)
{
	struct gsym_diag diag;
	write_keys(files->secret, KNOWN_SECRET, 0600);
	assert_int_equal(truncate(files->secret, 1 << 24), 0);
	assert_int_equal(try_open(files->secret, NULL, &diag), -EBADMSG);
}

static int verify(struct store_trust *trust, const uint8_t *signature, struct gsym_diag *diag)
{
	return trust_verify(trust, message, sizeof(message), known_public, signature, diag);
}

/* Both files are replaced while they are in use. */
TEST_OF(rotation, struct key_files, files)
{
	struct store_trust *trust;
	struct gsym_diag diag;
	char secret[128], public[128];
	uint8_t signer[32], signature[64], old_signature[64];
	write_keys(files->secret, KNOWN_SECRET, 0600);
	write_keys(files->trusted, KNOWN_PUBLIC, 0600);
	assert_int_equal(trust_open(files->secret, files->trusted, &trust, &diag), 0);
	assert_int_equal(trust_sign(trust, message, sizeof(message), signer, old_signature, &diag), 1);
	assert_int_equal(verify(trust, old_signature, &diag), 0);

	/* Of the same size, and within one tick of the file system's clock. */
	assert_int_equal(trust_make_key(secret, public, NULL), 0);
	write_keys(files->secret, secret, 0600);
	write_keys(files->trusted, public, 0600);
	assert_int_equal(verify(trust, old_signature, &diag), -EPERM);
	assert_int_equal(trust_sign(trust, message, sizeof(message), signer, signature, &diag), 1);
	assert_memory_not_equal(signer, known_public, sizeof(signer));
	assert_int_equal(trust_verify(trust, message, sizeof(message), signer, signature, &diag), 0);

	/* While there is no list, nothing is trusted; a list that others can write is none. */
	unlink(files->trusted);
	assert_int_equal(verify(trust, old_signature, &diag), -ENOKEY);
	write_keys(files->trusted, KNOWN_PUBLIC, 0666);
	assert_int_equal(verify(trust, old_signature, &diag), -ENOKEY);
	write_keys(files->trusted, "gsymfs-public-1 AA", 0644); /* cut */
	assert_int_equal(verify(trust, old_signature, &diag), -ENOKEY);
	write_keys(files->trusted, KNOWN_PUBLIC, 0644);
	assert_int_equal(verify(trust, old_signature, &diag), 0);
	write_keys(files->secret, KNOWN_SECRET, 0644);
	assert_int_equal(trust_sign(trust, message, sizeof(message), signer, signature, &diag), -EPERM);
	trust_close(trust);
}

/* A daemon leaves the directory that it was started in. */
TEST_OF(relative_names, struct key_files, files)
{
	struct store_trust *trust;
	char dir[4096];
	uint8_t signer[32], signature[64];
	write_keys(files->secret, KNOWN_SECRET, 0600);
	write_keys(files->trusted, KNOWN_PUBLIC, 0600);
	assert_non_null(getcwd(dir, sizeof(dir)));
	assert_int_equal(chdir(files->dir), 0);
	assert_int_equal(trust_open("secret", "trusted", &trust, NULL), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(trust_sign(trust, message, sizeof(message), signer, signature, NULL), 1);
	assert_int_equal(verify(trust, signature, NULL), 0);
	trust_close(trust);
	assert_int_equal(chdir(dir), 0);
}

EACH_TEST(key_files_set_up, key_files_tear_down)
