"""A server of S3 that keeps objects in memory and believes nothing: each request has to be signed as the
specification of Signature Version 4 says, with the digest of its body.

    with S3Server("us-west-2", {"KEY": ("SECRET", "TOKEN" or None)}, ["bucket"]) as server:
        server.endpoint, server.objects[bucket][name]
"""
import hashlib
import hmac
import re
import sys
import threading
import time
import urllib.parse
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

AUTHORIZATION = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
                           r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})")
UNSIGNED = {"authorization", "user-agent", "expect", "content-length", "connection", "accept", "accept-encoding"}


class Refused(Exception):
    def __init__(self, status, code):
        self.status, self.code = status, code


def quoted(text, safe="-._~"):
    return urllib.parse.quote(text, safe=safe)


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def expected_signature(secret, date, region, stamp, canonical):
    key = f"AWS4{secret}".encode()
    for part in (date, region, "s3", "aws4_request"):
        key = mac(key, part)
    scope = f"{date}/{region}/s3/aws4_request"
    return mac(key, f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}").hex()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    # ---- The signature ----

    def canonical(self, signed):
        """The request as it was to be signed: built from what came, not from how the client did it."""
        url = urllib.parse.urlsplit(self.path)
        path = quoted(urllib.parse.unquote(url.path), safe="-._~/")
        query = "&".join(f"{quoted(key)}={quoted(value)}" for key, value in
                         sorted(urllib.parse.parse_qsl(url.query, keep_blank_values=True)))
        headers = "".join(f"{name}:{' '.join(self.headers[name].split())}\n" for name in signed)
        return "\n".join((self.command, path, query, headers, ";".join(signed), self.headers["x-amz-content-sha256"]))

    def check_signature(self, body):
        found = AUTHORIZATION.fullmatch(self.headers.get("authorization", ""))
        if not found:
            raise Refused(403, "AccessDenied")
        key, date, region, names, signature = found.groups()
        signed = names.split(";")
        stamp = self.headers.get("x-amz-date", "")
        present = {name.lower() for name in self.headers.keys()}
        if key not in self.server.keys:
            raise Refused(403, "InvalidAccessKeyId")
        secret, token = self.server.keys[key]
        if not re.fullmatch(r"\d{8}T\d{6}Z", stamp) or not stamp.startswith(date) or region != self.server.region:
            raise Refused(403, "AuthorizationHeaderMalformed")
        if signed != sorted(set(signed)) or not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed) <= present:
            raise Refused(403, "AccessDenied")
        if present - set(signed) - UNSIGNED:
            raise Refused(403, "AccessDenied")
        if self.headers["host"] != self.server.endpoint.split("//")[1]:
            raise Refused(403, "AccessDenied")
        if token != self.headers.get("x-amz-security-token"):
            raise Refused(400, "InvalidToken")
        if abs(time.time() + self.server.skew - parse_stamp(stamp)) > 900:
            raise Refused(403, "RequestTimeTooSkewed")
        if hashlib.sha256(body).hexdigest() != self.headers["x-amz-content-sha256"]:
            raise Refused(400, "XAmzContentSHA256Mismatch")
        if not hmac.compare_digest(expected_signature(secret, date, region, stamp, self.canonical(signed)), signature):
            raise Refused(403, "SignatureDoesNotMatch")

    # ---- Operations ----

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.log.append((self.command, self.path, dict(self.headers.items())))
        try:
            self.check_signature(body)
            url = urllib.parse.urlsplit(self.path)
            _, bucket, name = urllib.parse.unquote(url.path).split("/", 2)
            if bucket not in self.server.objects:
                raise Refused(404, "NoSuchBucket")
            if self.server.faults:
                raise Refused(*self.server.faults.pop(0))
            with self.server.lock:
                self.act(self.server.objects[bucket], name, body)
        except Refused as refused:
            self.reply(refused.status, f"<?xml version=\"1.0\"?>\n<Error><Code>{refused.code}</Code>"
                       f"<Message>m</Message></Error>".encode(), {"Content-Type": "application/xml"})

    do_GET = do_HEAD = do_PUT = do_DELETE = handle_request

    def date_time_string(self, timestamp=None):
        return formatdate(time.time() + self.server.skew, usegmt=True)

    def reply(self, status, body=b"", headers=()):
        self.send_response(status)
        for key, value in dict(headers).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def check_conditions(self, objects, name):
        match, none_match = self.headers.get("if-match"), self.headers.get("if-none-match")
        if self.server.bare and self.command == "DELETE":
            return
        if none_match == "*" and name in objects:
            raise Refused(412, "PreconditionFailed")
        if match and name not in objects:
            raise Refused(404, "NoSuchKey")
        if match and match != (objects[name][1].strip('"') if self.server.bare else objects[name][1]):
            raise Refused(412, "PreconditionFailed")

    def act(self, objects, name, body):
        if self.server.conditions:
            self.check_conditions(objects, name)
        elif self.headers.get("if-none-match") and not self.server.ignores:
            raise Refused(501, "NotImplemented")
        if self.command == "PUT":
            etag = f'"{hashlib.md5(body).hexdigest()}"'
            objects[name] = (body, etag, time.time() + self.server.skew)
            self.reply(200, b"", {"ETag": etag})
        elif self.command == "DELETE":
            objects.pop(name, None)
            self.reply(204)
        elif name not in objects:
            raise Refused(404, "NoSuchKey")
        else:
            body, etag, modified = objects[name]
            self.reply(200, body, {"ETag": etag, "Last-Modified": formatdate(modified, usegmt=True)})


def parse_stamp(stamp):
    import calendar
    return calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))


class S3Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a fleet connects at once

    def __init__(self, region, keys, buckets):
        super().__init__(("127.0.0.1", 0), Handler)
        self.region, self.keys, self.lock = region, keys, threading.Lock()
        self.objects = {bucket: {} for bucket in buckets}
        self.endpoint = f"http://127.0.0.1:{self.server_address[1]}"
        self.log = []            # command, path, headers
        self.faults = []         # status and code of the next requests
        self.skew = 0            # seconds that its clock is ahead
        self.conditions = True   # keeps If-Match and If-None-Match
        self.ignores = False     # if it does not, says nothing
        self.bare = False        # compares tags without quotes, as Ceph

    def handle_error(self, request, client_address):
        """A client that wants no more of an object resets the connection."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
