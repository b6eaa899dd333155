/*
 * The sandbox of a worker: resource limits, Landlock for files and network, seccomp for system calls.
 */
#include "work/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work/sandbox/sandbox_parts.h"
#include "gsym/base/sanitizer.h"
#include "gsym/base/vec.h"

enum { WORKER_NICE = 5 };

const char *sandbox_layers(void)
{
#ifdef HAVE_SECCOMP
	return "user, namespaces, root directory, Landlock, seccomp";
#else
	return "user, namespaces, root directory, Landlock; built without seccomp";
#endif
}

void sandbox_die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(1);
}

void sandbox_die_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!write(fd, "1000", 4);
	close(fd);
}

/* A lower hard limit that was inherited stays. */
static int limit(int resource, rlim_t soft, rlim_t hard)
{
	struct rlimit l;
	if (getrlimit((__rlimit_resource_t)resource, &l))
		return -errno;
	if (l.rlim_max > hard)
		l.rlim_max = hard;
	l.rlim_cur = soft < l.rlim_max ? soft : l.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &l) ? -errno : 0;
}

int sandbox_limits(uint64_t memory_bytes, uint64_t cpu_seconds, uint64_t file_bytes)
{
	setpriority(PRIO_PROCESS, 0, WORKER_NICE);
	signal(SIGXFSZ, SIG_IGN); /* write(2) then fails with EFBIG */
	int err = limit(RLIMIT_CORE, 0, 0);
	if (!err && cpu_seconds > 0)
		err = limit(RLIMIT_CPU, cpu_seconds, cpu_seconds + 5);
	if (!err)
		err = limit(RLIMIT_FSIZE, file_bytes, file_bytes);
	if (!err && !SANITIZER)
		err = limit(RLIMIT_DATA, memory_bytes, memory_bytes);
	return err;
}

/* ---- Landlock: definitions newer than the oldest supported headers are repeated here ---- */

struct landlock_attr {
	uint64_t fs;     /* since ABI 1 */
	uint64_t net;    /* since ABI 4 */
	uint64_t scoped; /* since ABI 6 */
};

enum {
	NET_BIND_AND_CONNECT = 3,
	SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 3,
};

/* File system rights known to each ABI: 13 at first, then refer, truncate and ioctl on devices. */
static uint64_t landlock_fs_rights(long abi)
{
	unsigned bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;
	return (1ULL << bits) - 1;
}

static size_t landlock_attr_size(long abi)
{
	if (abi >= 6)
		return sizeof(struct landlock_attr);
	return abi >= 4 ? offsetof(struct landlock_attr, scoped) : offsetof(struct landlock_attr, net);
}

/* A ruleset that handles, and so forbids, all rights, but network rights only as in @network; -1 without
 * Landlock. */
static int make_ruleset(uint64_t network, uint64_t *ret_fs)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 1)
		return -1;
	struct landlock_attr attr = {
		.fs = *ret_fs = landlock_fs_rights(abi),
		.net = network,
		.scoped = SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS,
	};
	return (int)syscall(SYS_landlock_create_ruleset, &attr, landlock_attr_size(abi), 0);
}

static void enter_ruleset(int ruleset)
{
	if (ruleset < 0)
		return;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) == 0)
		sandbox_note(LAYER_LANDLOCK);
	close(ruleset);
}

/* Allows @rights at and below @path, for a file those that apply to files. A missing path needs no rule. */
static void allow_path(int ruleset, const char *path, uint64_t rights)
{
	const uint64_t of_files =
		LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE;
	struct landlock_path_beneath_attr rule = {.parent_fd = path ? open(path, O_PATH | O_CLOEXEC) : -1};
	struct stat st;
	if (rule.parent_fd < 0)
		return;
	rule.allowed_access =
		fstat(rule.parent_fd, &st) == 0 && S_ISDIR(st.st_mode) ? rights : rights & of_files;
	syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(rule.parent_fd);
}

static void restrict_files_and_network(void)
{
	uint64_t fs;
	enter_ruleset(make_ruleset(NET_BIND_AND_CONNECT, &fs));
}

#ifdef HAVE_SECCOMP

/* Exits if a filter cannot be installed on a kernel that supports them. */
static void restrict_calls(enum filter_kind kind)
{
	scmp_filter_ctx filter = seccomp_init(call_filter_default(kind));
	int err = filter ? call_filter_fill(filter, kind, seccomp_arch_native()) : -ENOMEM;
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	if (err && prctl(PR_GET_SECCOMP) >= 0)
		_exit(1);
	if (!err)
		sandbox_note(LAYER_SECCOMP);
}

#else

static void restrict_calls(enum filter_kind kind)
{
	(void)kind;
}

#endif

void sandbox_enter_common(pid_t parent)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (SANITIZER)
		return;
	privileges_drop();
	sandbox_die_with(parent);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void sandbox_enter_own(void)
{
	if (SANITIZER)
		return;
	restrict_files_and_network();
	restrict_calls(FILTER_READER);
}

void sandbox_enter(pid_t parent)
{
	sandbox_enter_common(parent);
	sandbox_enter_own();
}

#define READING ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))

/* Libraries, name servers, certificates: not all of /etc, where root's daemon may read secrets. */
static const char *const network_paths[] = {
	"/dev/null",
	"/dev/urandom",
	"/etc/ca-certificates",
	"/etc/crypto-policies",
	"/etc/debuginfod",
	"/etc/gai.conf",
	"/etc/gnutls",
	"/etc/host.conf",
	"/etc/hosts",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/localtime",
	"/etc/nsswitch.conf",
	"/etc/pki/ca-trust",
	"/etc/pki/tls/cert.pem",
	"/etc/pki/tls/certs",
	"/etc/pki/tls/openssl.cnf",
	"/etc/protocols",
	"/etc/resolv.conf",
	"/etc/services",
	"/etc/ssl/cert.pem",
	"/etc/ssl/certs",
	"/etc/ssl/openssl.cnf",
	"/gnu/store",
	"/lib",
	"/lib32",
	"/lib64",
	"/nix/store",
	"/proc/self",
	"/run/NetworkManager",
	"/run/resolvconf",
	"/run/systemd/resolve",
	"/usr",
	"/var/lib/ca-certificates",
};

/* For reading what libraries for the network read. -1 without Landlock. */
static int make_network_ruleset(uint64_t *ret_all)
{
	static const char *const named[] = {"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
					    "DEBUGINFOD_HEADERS_FILE"};
	int ruleset = make_ruleset(0, ret_all);
	if (ruleset < 0)
		return ruleset;
	for (size_t i = 0; i < ARRAY_SIZE(network_paths); i++)
		allow_path(ruleset, network_paths[i], READING);
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		allow_path(ruleset, getenv(named[i]), READING);
	return ruleset;
}

void sandbox_enter_network(const char *directory)
{
	uint64_t all = 0;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int ruleset = SANITIZER ? -1 : make_network_ruleset(&all);
	if (!SANITIZER)
		privileges_drop_capabilities();
	if (ruleset < 0)
		return;
	allow_path(ruleset, directory, all & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE);
	enter_ruleset(ruleset);
}

/*
 * A file that is replaced while the process runs is another one for Landlock: so it is the directory that may
 * be read, but none of those that hold everybody's files.
 */
static void allow_replaceable(int ruleset, const char *path)
{
	char directory[PATH_MAX];
	const char *slash = path ? strrchr(path, '/') : NULL;
	if (!slash || (size_t)(slash - path) >= sizeof(directory))
		return;
	snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path);
	bool is_common = !*directory || strcmp(directory, "/etc") == 0 || strcmp(directory, "/root") == 0;
	allow_path(ruleset, is_common ? path : directory, READING);
}

void sandbox_enter_transfer(const char *const *files, size_t n)
{
	uint64_t all;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (SANITIZER)
		return;
	int ruleset = make_network_ruleset(&all);
	privileges_drop_capabilities();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	for (size_t i = 0; i < n && ruleset >= 0; i++)
		allow_replaceable(ruleset, files[i]);
	enter_ruleset(ruleset);
	restrict_calls(FILTER_NETWORK);
}

void sandbox_enter_directory(const char *directory)
{
	uint64_t all;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (SANITIZER)
		return;
	int ruleset = make_ruleset(NET_BIND_AND_CONNECT, &all);
	privileges_drop_capabilities();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (ruleset >= 0)
		allow_path(ruleset, directory, all & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE);
	enter_ruleset(ruleset);
	restrict_calls(FILTER_DIRECTORY);
}
