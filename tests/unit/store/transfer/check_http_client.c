/* What libcurl is told, how its errors are reported, and which connections are kept. */
#include "tests/unit/store/transfer/http_exchange_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

/* ---- Errors ---- */

static bool fails_with_headers;

static bool ends(unsigned call)
{
	(void)call;
	if (fails_with_headers)
		assert_true(header("HTTP/1.1 403 No\r\n") && header("\r\n"));
	return false;
}

TEST(results)
{
	static const struct {
		CURLcode result;
		int err;
	} rows[] = {
		{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
		{CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH},
		{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
		{CURLE_COULDNT_CONNECT, -EHOSTUNREACH},
		{CURLE_SSL_CONNECT_ERROR, -EHOSTUNREACH},
		{CURLE_PEER_FAILED_VERIFICATION, -EHOSTUNREACH},
		{CURLE_SSL_CERTPROBLEM, -EHOSTUNREACH},
		{CURLE_SSL_CACERT_BADFILE, -EHOSTUNREACH},
		{CURLE_SSL_ISSUER_ERROR, -EHOSTUNREACH},
		{CURLE_RECV_ERROR, -EREMOTEIO},
		{CURLE_OUT_OF_MEMORY, -ENOMEM},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		result = rows[i].result;
		assert_int_equal(exchange(ends), rows[i].err);
		if (rows[i].err != -ENOMEM)
			assert_string_equal(transfer.reply.text, rows[i].result == CURLE_RECV_ERROR
									 ? "cannot receive"
									 : "another error");
	}
	/* Versions before 8.6 call a header that is too long the same. */
	pretransfer = 1;
	result = CURLE_OUT_OF_MEMORY;
	assert_int_equal(exchange(ends), -EREMOTEIO);
	assert_string_equal(transfer.reply.text, "the answer needs too much memory");
	/* Refused while the request was still sent: that is an answer. */
	fails_with_headers = true;
	result = CURLE_SEND_ERROR;
	assert_int_equal(exchange(ends), 0);
	assert_int_equal(guarded.answer.status, 403);
	result = CURLE_COULDNT_CONNECT;
	assert_int_equal(exchange(ends), -EHOSTUNREACH);
	fails_with_headers = false;
}

static bool with_text(unsigned call)
{
	(void)call;
	snprintf(option_set(CURLOPT_ERRORBUFFER)->pointer, CURL_ERROR_SIZE, "name \x1b[1m");
	return false;
}

static bool breaks_off(unsigned call)
{
	(void)call;
	assert_true(header("HTTP/1.1 200 OK\r\n") && header("\r\n"));
	return false;
}

TEST(texts)
{
	result = CURLE_COULDNT_CONNECT;
	assert_int_equal(exchange(with_text), -EHOSTUNREACH);
	assert_null(strchr(transfer.reply.text, '\x1b'));
	assert_memory_equal(transfer.reply.text, "name ", 5);
	result = CURLE_RECV_ERROR;
	assert_int_equal(exchange(breaks_off), -EREMOTEIO); /* no refusal */
	char text[2 * sizeof(transfer.reply.text)];
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(http_fail(&task, -EXDEV, "%s", text), -EXDEV);
	assert_int_equal(strlen(transfer.reply.text), sizeof(transfer.reply.text) - 1);
	assert_int_equal(http_fail(&task, -EXDEV, "%s", ""), -EXDEV);
	assert_string_equal(transfer.reply.text, "");
}

TEST(library_fails)
{
	result = CURL_LAST; /* no message */
	assert_int_equal(exchange(ends), -EIO);
	perform_result = CURLM_OUT_OF_MEMORY;
	assert_int_equal(exchange(silence), -ENOMEM);
	perform_result = CURLM_INTERNAL_ERROR;
	assert_int_equal(exchange(silence), -EIO);
	perform_result = CURLM_OK;
	assert_int_equal(adds, removes);
	adds = 0;
	add_result = CURLM_OUT_OF_MEMORY;
	assert_int_equal(exchange(silence), -ENOMEM);
	assert_int_equal(play_calls, 0);
	add_result = CURLM_OK;
	static const CURLoption options[] = {CURLOPT_NOSIGNAL, CURLOPT_CLOSESOCKETDATA, CURLOPT_URL,
					     CURLOPT_INFILESIZE_LARGE, CURLOPT_CUSTOMREQUEST};
	request.has_body = true;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		refused_option = options[i];
		assert_int_equal(exchange(silence), -EINVAL);
		assert_memory_equal(transfer.reply.text, "libcurl has no CURLOPT_", 23);
		assert_int_equal(play_calls, 0);
	}
	refused_option = CURLOPT_QUICK_EXIT; /* old versions have none */
	result = CURLE_RECV_ERROR;
	assert_int_equal(exchange(ends), -EREMOTEIO);
}

TEST(no_library)
{
	static const struct store_options none;
	struct http_client *other = NULL;
	struct gsym_diag diag = {""};
	has_library = false;
	assert_int_equal(http_client_open(&none, &other, &diag), -ELIBACC);
	has_library = true;
	assert_string_equal(diag.text, "there is no libcurl");
	assert_null(other);
	http_client_close(NULL);
}

/* ---- Handles ---- */

TEST(no_handle)
{
	has_easy = false;
	assert_int_equal(exchange(usual), -ENOMEM);
	has_easy = true;
	has_multi = false;
	assert_int_equal(exchange(usual), -ENOMEM);
	has_multi = true;
	assert_int_equal(inits, cleanups);
	assert_int_equal(play_calls, 0);
	/* The client itself. */
	assert_int_equal(live_allocations(), 1);
	fail_next_allocation();
	assert_int_equal(exchange(usual), -ENOMEM);
	static const struct store_options none;
	struct http_client *other = NULL;
	fail_next_allocation();
	assert_int_equal(http_client_open(&none, &other, NULL), -ENOMEM);
	assert_null(other);
	/* Lines of headers that are lacking. */
	struct http_headers headers = {0};
	http_header(&headers, "A", "1");
	has_lines = false;
	http_header(&headers, "B", "2");
	has_lines = true;
	http_header(&headers, "C", "3");
	fail_next_allocation();
	http_header(&headers, "D", "4");
	request.headers = &headers;
	assert_int_equal(exchange(usual), -ENOMEM);
	assert_int_equal(play_calls, 0);
	assert_string_equal(headers.list->data, "A: 1");
	assert_string_equal(headers.list->next->data, "C: 3");
	assert_null(headers.list->next->next);
	http_headers_deinit(&headers);
	assert_null(headers.list);
}

enum { AT_ONCE = 10, KEPT = 8 };

static bool nested(unsigned depth)
{
	struct http_answer inner;
	if (depth + 1 < AT_ONCE)
		http_exchange(&task, &request, &inner);
	return false;
}

/* As many as are under way at the same time; some are kept, with their connections, for the next. */
TEST(kept_handles)
{
	result = CURLE_RECV_ERROR;
	exchange(nested);
	assert_int_equal(inits, AT_ONCE);
	assert_int_equal(cleanups, AT_ONCE - KEPT);
	assert_int_equal(resets, AT_ONCE);
	exchange(nested);
	assert_int_equal(inits, AT_ONCE + AT_ONCE - KEPT);
	assert_int_equal(cleanups, 2 * (AT_ONCE - KEPT));
	exchange(ends);
	assert_int_equal(inits, AT_ONCE + AT_ONCE - KEPT);
}

static int kept_socket;

static bool opens(unsigned call)
{
	assert_in_range(call, 0, 1);
	if (call == 0) {
		kept_socket = open_socket();
		assert_true(kept_socket >= 0);
		pretransfer = 1;
		return true;
	}
	return usual(call);
}

static bool uses_again(unsigned call)
{
	assert_in_range(call, 0, 3);
	if (call == 1) { /* another is opened before the first is closed */
		int other = open_socket();
		assert_int_equal(close_socket(kept_socket), 0);
		kept_socket = other;
	}
	pretransfer = call >= 2;
	return call < 3 || usual(call);
}

static bool closes(unsigned call)
{
	if (call == 0)
		assert_int_equal(close_socket(kept_socket), 0);
	return call < 1 || usual(call);
}

TEST(connections)
{
	assert_int_equal(exchange(opens), 0);
	assert_int_equal(quick_acks, 1);
	pretransfer = 0;
	assert_int_equal(exchange(uses_again), 0);
	assert_int_equal(quick_acks, 2);
	assert_int_equal(exchange(closes), 0);
	assert_int_equal(quick_acks, 2); /* there is none */
	assert_int_equal(fcntl(kept_socket, F_GETFD), -1);
}

/* ---- Options ---- */

static long number_set(CURLoption option)
{
	assert_non_null(option_set(option));
	return option_set(option)->number;
}

static const char *text_set(CURLoption option)
{
	const struct set_option *set = option_set(option);
	return set ? set->pointer : NULL;
}

static bool looks_at_options(unsigned call)
{
	(void)call;
	assert_int_equal(number_set(CURLOPT_NOSIGNAL), 1);
	assert_int_equal(number_set(CURLOPT_FOLLOWLOCATION), 0);
	assert_int_equal(number_set(CURLOPT_SUPPRESS_CONNECT_HEADERS), 1);
	assert_int_equal(number_set(CURLOPT_CONNECTTIMEOUT_MS), 1111);
	assert_string_equal(text_set(CURLOPT_PROTOCOLS_STR), "http,https");
	assert_string_equal(text_set(CURLOPT_URL), "http://h/x");
	assert_string_equal(text_set(CURLOPT_CUSTOMREQUEST), "PUT");
	assert_null(option_set(CURLOPT_NOBODY));
	assert_string_equal(text_set(CURLOPT_CAINFO), "ca");
	assert_string_equal(text_set(CURLOPT_SSLCERT), "cert");
	assert_string_equal(text_set(CURLOPT_SSLKEY), "key");
	assert_int_equal(number_set(CURLOPT_UPLOAD), 1);
	assert_int_equal(option_set(CURLOPT_INFILESIZE_LARGE)->off, 5000000000);
	assert_ptr_equal(text_set(CURLOPT_HTTPHEADER), request.headers->list);
	if (request.signature) { /* the password of the file is for others */
		assert_null(option_set(CURLOPT_NETRC));
		assert_string_equal(text_set(CURLOPT_AWS_SIGV4), "scope");
		assert_string_equal(text_set(CURLOPT_USERNAME), "user");
		assert_string_equal(text_set(CURLOPT_PASSWORD), "secret");
	} else {
		assert_int_equal(number_set(CURLOPT_NETRC), CURL_NETRC_REQUIRED);
		assert_string_equal(text_set(CURLOPT_NETRC_FILE), "netrc");
		assert_int_equal(number_set(CURLOPT_HTTPAUTH), CURLAUTH_BASIC);
		assert_null(option_set(CURLOPT_USERNAME));
	}
	return usual(0);
}

static bool looks_at_few(unsigned call)
{
	(void)call;
	assert_int_equal(number_set(CURLOPT_NOBODY), 1);
	assert_null(option_set(CURLOPT_CUSTOMREQUEST));
	assert_null(option_set(CURLOPT_UPLOAD));
	assert_null(option_set(CURLOPT_HTTPHEADER));
	assert_null(option_set(CURLOPT_CAINFO));
	assert_null(option_set(CURLOPT_SSLCERT));
	assert_null(option_set(CURLOPT_SSLKEY));
	assert_null(option_set(CURLOPT_NETRC));
	assert_null(option_set(CURLOPT_AWS_SIGV4));
	return usual(0);
}

TEST(options)
{
	static const struct store_options all = {
		.ca_file = "ca", .cert_file = "cert", .key_file = "key", .netrc_file = "netrc"};
	const struct http_signature signature = {"scope", "user", "secret"};
	struct http_headers headers = {0};
	request.method = "HEAD";
	assert_int_equal(exchange(looks_at_few), 0);
	http_client_close(client);
	assert_int_equal(inits, cleanups);
	open_client(&all);
	http_header(&headers, "A", "1");
	request.method = "PUT";
	request.headers = &headers;
	request.has_body = true;
	request.size = 5000000000;
	assert_int_equal(exchange(looks_at_options), 0);
	request.signature = &signature;
	assert_int_equal(exchange(looks_at_options), 0);
	http_headers_deinit(&headers);
}

EACH_TEST(http_exchange_set_up, http_exchange_tear_down)
