#include "tests/unit/store/transfer/fake_curl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "gsym/base/diag.h"
#include "tests/lib/unit.h"

/* ---- The library ---- */

enum { OPTIONS_MAX = 512 };

static struct set_option set_options[OPTIONS_MAX];
size_t n_set_options;
CURLoption refused_option;

bool has_library = true, has_easy = true, has_multi = true, has_lines = true;
CURLMcode add_result, perform_result;
unsigned inits, cleanups, resets, adds, removes;
curl_off_t pretransfer;

bool (*play)(unsigned call);
unsigned play_calls;
CURLcode result;
static bool is_over;

int64_t now_ms;
int last_wait;

const struct set_option *option_set(CURLoption option)
{
	for (size_t i = 0; i < n_set_options; i++)
		if (set_options[i].option == option)
			return &set_options[i];
	return NULL;
}

static CURLcode set_one(CURL *easy, CURLoption option, ...)
{
	struct set_option *set = &set_options[n_set_options++];
	va_list args;
	assert_non_null(easy);
	assert_in_range(n_set_options, 1, OPTIONS_MAX);
	if (option == refused_option)
		return CURLE_UNKNOWN_OPTION;
	*set = (struct set_option){.option = option};
	va_start(args, option);
	switch (option / 10000 * 10000) {
	case CURLOPTTYPE_LONG: set->number = va_arg(args, long); break;
	case CURLOPTTYPE_OFF_T: set->off = va_arg(args, curl_off_t); break;
	case CURLOPTTYPE_FUNCTIONPOINT: set->function = va_arg(args, void (*)(void)); break;
	default: set->pointer = va_arg(args, void *);
	}
	va_end(args);
	return CURLE_OK;
}

static CURLcode get_one(CURL *easy, CURLINFO info, ...)
{
	va_list args;
	assert_non_null(easy);
	assert_int_equal(info, CURLINFO_PRETRANSFER_TIME_T);
	va_start(args, info);
	*va_arg(args, curl_off_t *) = pretransfer;
	va_end(args);
	return CURLE_OK;
}

static CURL *init_easy(void)
{
	inits += has_easy;
	return has_easy ? malloc(1) : NULL;
}

static void clean_easy(CURL *easy)
{
	cleanups += easy != NULL;
	free(easy);
}

static void reset_easy(CURL *easy)
{
	assert_non_null(easy);
	n_set_options = 0;
	resets++;
}

static const char *text_of(CURLcode code)
{
	return code == CURLE_RECV_ERROR ? "cannot receive" : "another error";
}

static CURLM *init_multi(void)
{
	return has_multi ? malloc(1) : NULL;
}

static CURLMcode clean_multi(CURLM *multi)
{
	assert_non_null(multi);
	free(multi);
	return CURLM_OK;
}

static CURLMcode add_handle(CURLM *multi, CURL *easy)
{
	assert_non_null(multi);
	assert_non_null(easy);
	adds++;
	return add_result;
}

static CURLMcode remove_handle(CURLM *multi, CURL *easy)
{
	assert_non_null(multi);
	assert_non_null(easy);
	removes++;
	return CURLM_OK;
}

static CURLMcode perform_multi(CURLM *multi, int *running)
{
	assert_non_null(multi);
	is_over = !play(play_calls++);
	*running = !is_over;
	return perform_result;
}

static CURLMsg *read_info(CURLM *multi, int *left)
{
	static CURLMsg msg;
	assert_non_null(multi);
	*left = 0;
	if (!is_over || result == CURL_LAST)
		return NULL;
	msg = (CURLMsg){.msg = CURLMSG_DONE, .data.result = result};
	return &msg;
}

static CURLMcode wait_multi(CURLM *multi, struct curl_waitfd fds[], unsigned n, int ms, int *ret)
{
	(void)multi;
	(void)fds;
	(void)ret;
	assert_int_equal(n, 0);
	last_wait = ms;
	now_ms += ms;
	return CURLM_OK;
}

static struct curl_slist *append_line(struct curl_slist *list, const char *text)
{
	struct curl_slist *line = has_lines ? calloc(1, sizeof(*line)) : NULL, *last = list;
	if (!line)
		return NULL;
	line->data = strdup(text);
	while (last && last->next)
		last = last->next;
	if (last)
		last->next = line;
	return list ? list : line;
}

static void free_lines(struct curl_slist *list)
{
	while (list) {
		struct curl_slist *next = list->next;
		free(list->data);
		free(list);
		list = next;
	}
}

static time_t parse_number(const char *text, const time_t *unused)
{
	(void)unused;
	return (time_t)strtol(text, NULL, 10);
}

const struct curl_library *curl_library(struct gsym_diag *diag)
{
	static const struct curl_library curl = {
		.easy_init = init_easy,
		.easy_cleanup = clean_easy,
		.easy_reset = reset_easy,
		.easy_set = set_one,
		.easy_get = get_one,
		.easy_strerror = text_of,
		.multi_init = init_multi,
		.multi_cleanup = clean_multi,
		.multi_add_handle = add_handle,
		.multi_remove_handle = remove_handle,
		.multi_perform = perform_multi,
		.multi_poll = wait_multi,
		.multi_info_read = read_info,
		.slist_append = append_line,
		.slist_free_all = free_lines,
		.getdate = parse_number,
	};
	if (has_library)
		return &curl;
	diag_set(diag, -ELIBACC, "there is no libcurl");
	return NULL;
}

/* ---- What the other side does ---- */

bool header_bytes(const char *line, size_t n)
{
	curl_write_callback take = (curl_write_callback)option_set(CURLOPT_HEADERFUNCTION)->function;
	char *copy = malloc(n);
	memcpy(copy, line, n); /* without a 0 after it */
	bool taken = take(copy, 1, n, option_set(CURLOPT_HEADERDATA)->pointer) == n;
	free(copy);
	return taken;
}

bool header(const char *line)
{
	return header_bytes(line, strlen(line));
}

bool body(const char *bytes, size_t unit, size_t n)
{
	curl_write_callback take = (curl_write_callback)option_set(CURLOPT_WRITEFUNCTION)->function;
	return take((char *)(uintptr_t)bytes, unit, n, option_set(CURLOPT_WRITEDATA)->pointer) == unit * n;
}

size_t read_body(char *to, size_t unit, size_t n)
{
	curl_read_callback give = (curl_read_callback)option_set(CURLOPT_READFUNCTION)->function;
	return give(to, unit, n, option_set(CURLOPT_READDATA)->pointer);
}

int seek_body(curl_off_t off, int origin)
{
	curl_seek_callback seek = (curl_seek_callback)option_set(CURLOPT_SEEKFUNCTION)->function;
	return seek(option_set(CURLOPT_SEEKDATA)->pointer, off, origin);
}

int socket_family = AF_UNIX;

int open_socket(void)
{
	curl_opensocket_callback open_one =
		(curl_opensocket_callback)option_set(CURLOPT_OPENSOCKETFUNCTION)->function;
	struct curl_sockaddr address = {.family = socket_family, .socktype = SOCK_STREAM};
	return open_one(option_set(CURLOPT_OPENSOCKETDATA)->pointer, CURLSOCKTYPE_IPCXN, &address);
}

int close_socket(int sock)
{
	curl_closesocket_callback close_one =
		(curl_closesocket_callback)option_set(CURLOPT_CLOSESOCKETFUNCTION)->function;
	return close_one(option_set(CURLOPT_CLOSESOCKETDATA)->pointer, sock);
}
