#!/usr/bin/env python3
"""Answers pprof's remote symbolization over HTTP: POST /symbolz with "0x4011a0+0x4011d2", a line "address<TAB>name" each.

    symbolz.py MOUNT [--host HOST] [--port PORT] IMAGE[@LOAD]...

MOUNT is where gsymfs is mounted, an IMAGE a build id, and LOAD, in hexadecimal, where the process has loaded it, as in
/proc/PID/maps; without it addresses are those of the linker. Prints the address where it listens, by default on this
machine only. Inlined calls are joined: "caller--callee", as pprof has them. Who is not found is answered "??".
"""
import argparse
import http.server
import json
import os
import re

LIMIT = 1 << 20  # bytes of a request


def ask(path, addresses):
    """The name at each address, or None."""
    with open(path, "r+b", buffering=0) as q:
        q.write("".join("%s\n" % a for a in addresses).encode())
        for line in q.readall().decode().splitlines():
            names = [f["FunctionName"] for f in reversed(json.loads(line)["Symbol"])]
            yield "--".join(names) or None


class Handler(http.server.BaseHTTPRequestHandler):
    timeout = 10  # seconds without a byte

    def answer(self, text, status=200):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_here(self):
        if self.path in ("/symbolz", "/pprof/symbol", "/debug/pprof/symbol"):
            return True
        self.answer("POST addresses to /symbolz\n", 404)
        return False

    def do_GET(self):
        if self.is_here():
            self.answer("num_symbols: 1\n")  # any number but 0: there are symbols

    def do_POST(self):
        if not self.is_here():
            return
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > LIMIT:
            return self.answer("a request has a Content-Length, of %d bytes at most\n" % LIMIT, 413)
        asked = self.rfile.read(int(size)).decode("ascii", "replace").strip().split("+")
        addresses = [a for a in asked if re.fullmatch("0x[0-9a-fA-F]{1,16}", a)]
        names = dict.fromkeys(addresses, "??")
        for path in self.server.files:
            names.update((a, name) for a, name in zip(addresses, ask(path, addresses)) if name)
        self.answer("".join("%s\t%s\n" % (a, names[a]) for a in addresses))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("mount")
    parser.add_argument("images", nargs="+", metavar="IMAGE[@LOAD]")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="by default any that is free")
    args = parser.parse_args()
    files = []
    for image in args.images:
        id, _, load = image.partition("@")
        files.append(os.path.join(args.mount, id, *(["base", load] if load else []), "q.json"))
        if not os.path.exists(files[-1]):
            parser.error("no image %s in %s" % (image, args.mount))
    server = http.server.ThreadingHTTPServer((args.host, args.port), Handler)
    server.files = files
    print("http://%s:%d/symbolz" % server.server_address[:2], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


main()
