#!/usr/bin/env python3
"""Who may read what under allow_other: a table of users, files and kinds of nodes, asked by processes of those users."""

import errno
import json
import os
import pwd
import shutil
import stat

import mount_harness
from mount_harness import (GROUP_OBJ, GSYM, GSYMFS, MASK, OTHERS, USER, USER_OBJ, MountTest, acl, contents, run, set_acl,
                           tool)

OWNER, MEMBER, NAMED, OTHER, JOINED = 61001, 61002, 61003, 61004, 61005  # user ids
GROUP, ANOTHER, NOBODY = 61001, 61998, 61999
# User id, group and supplementary groups; MEMBER and JOINED are in the group of OWNER.
USERS = {"root": (0, 0, []), "owner": (OWNER, GROUP, []), "member": (MEMBER, GROUP, []), "named": (NAMED, NOBODY, []),
         "other": (OTHER, NOBODY, [ANOTHER]), "joined": (JOINED, NOBODY, [ANOTHER, GROUP])}


def attempt(how, path):
    """What comes of it: an errno, 0, or the answer to what was written."""
    try:
        if how == "list":
            os.listdir(path)
        elif how == "stat":
            os.stat(path)
        elif how == "names":
            return " ".join(sorted(os.listdir(path)))
        elif how == "read":
            os.read(os.open(path, os.O_RDONLY), 1)
        else:
            fd = os.open(path, os.O_RDWR)
            os.write(fd, how.encode())
            return mount_harness.read_all(fd).decode()
        return 0
    except OSError as error:
        return error.errno


def may_search(user, mode, bit=1):
    """Whether @user may search a directory of OWNER and GROUP with @mode; bit 4: list it."""
    shift = {"root": 0, "owner": 6, "member": 3, "joined": 3}.get(user, 0)
    return user == "root" or bool(mode >> shift & bit)


OPENED = acl((USER_OBJ, 6), (USER, 4, NAMED), (GROUP_OBJ, 0), (MASK, 4), (OTHERS, 0))
CLOSED = acl((USER_OBJ, 6), (USER, 0, NAMED), (GROUP_OBJ, 4), (MASK, 4), (OTHERS, 4))
NO_SEARCH = acl((USER_OBJ, 7), (USER, 0, NAMED), (GROUP_OBJ, 5), (MASK, 5), (OTHERS, 5))

# Name: mode of the file, of its directory, its list and the directory's; who may read besides root.
FILES = {
    "open": (0o644, 0o755, None, None, {"owner", "member", "named", "other", "joined"}),
    "group": (0o640, 0o755, None, None, {"owner", "member", "joined"}),
    "private": (0o600, 0o755, None, None, {"owner"}),
    "closed": (0o000, 0o755, None, None, set()),
    "not-the-group": (0o604, 0o755, None, None, {"owner", "named", "other"}),
    "below-private": (0o644, 0o700, None, None, {"owner"}),
    "below-group": (0o644, 0o710, None, None, {"owner"}),
    # Nobody gains by a list, neither who is named in it nor the group, whose bits in the mode are the mask.
    "acl-opened": (0o640, 0o755, OPENED, None, {"owner"}),
    "acl-closed": (0o644, 0o755, CLOSED, None, {"owner"}),
    "below-acl": (0o644, 0o755, None, NO_SEARCH, {"owner"}),
}
BELOW = ["status", "info.json", "image.gsym", "functions.tsv", "{address}", "{address}.json", "0x0", "rva/{address}",
         "base/0x0/{address}", "sym/{name}"]


class AccessTest(MountTest):
    def setUp(self):
        if not mount_harness.is_root():
            self.skipTest("only root can make files of other users")
        super().setUp()
        path = self.compile()
        start, _, self.name = next(f for f in self.functions(path) if "norm" in f[2])
        self.address = "0x%x" % start
        self.data = contents(path)
        self.at = self.data.find(bytes.fromhex(mount_harness.build_id(path)))
        os.unlink(path)

    def make(self, name, number, mode, dir_mode, file_list, dir_list):
        """The id of a file in a directory of its own; None where there are no lists."""
        id = (b"%020d" % number)[::-1]  # unique from the beginning
        where = os.path.join(self.source, "dir-" + name)
        os.mkdir(where)
        path = os.path.join(where, name)
        with open(path, "wb") as file:
            file.write(self.data[:self.at] + id + self.data[self.at + 20:])
        for p, m in ((path, mode), (where, dir_mode)):
            os.chown(p, OWNER, GROUP)
            os.chmod(p, m)
        lists = [set_acl(p, value) for p, value in ((path, file_list), (where, dir_list)) if value]
        return id.hex() if all(lists) else None

    def as_user(self, user, attempts):
        """What each of these (how, path) gives @user: an errno, 0, or an answer."""
        uid, gid, groups = USERS[user]
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setgroups(groups)
            os.setgid(gid)
            os.setuid(uid)
            with open(writing, "w") as out:
                json.dump([attempt(*a) for a in attempts], out)
            os._exit(0)
        os.close(writing)
        with open(reading) as results:
            outcomes = json.load(results)
        os.waitpid(child, 0)
        return outcomes

    def attempts(self, id, name):
        """(how, path, who may): True = readers only, False = everybody."""
        image = os.path.join(self.mnt, id)
        below = [n.format(address=self.address, name=self.name) for n in BELOW]
        listed = [("list", os.path.join(image, n), True) for n in ("", "base", "rva", "off", "ra", "sym", "approximate",
                                                                   "base/0x1000")]
        return listed + [("read", os.path.join(image, n), True) for n in below if n != "0x0"] + [
            ("stat", image, False),
            ("stat", os.path.join(image, "status"), True),
            ("stat", os.path.join(image, self.address), True),
            ("0x0\n", os.path.join(image, "q"), True),
            ("0x0\n", os.path.join(image, "rva/q.json"), True),
            ("read", os.path.join(self.mnt, "by-name", name, id, "status"), True),
            ("read", os.path.join(self.mnt, id[:-2], "status"), True),
            ("list", os.path.join(self.mnt, "by-name", name), False),
        ]

    def test_everybody_everything_everywhere(self):
        ids = {}
        for number, (name, (mode, dir_mode, file_list, dir_list, _)) in enumerate(FILES.items()):
            id = self.make(name, number + 1, mode, dir_mode, file_list, dir_list)
            if id:
                ids[name] = id
            else:
                print("skipped: %s: the file system has no access control lists" % name)
        self.mount("allow_other").wait_scanned()
        wrong = []
        for user in USERS:
            plan = [(name, *a) for name, id in ids.items() for a in self.attempts(id, name)]
            for (name, how, path, readers), got in zip(plan, self.as_user(user, [p[1:3] for p in plan])):
                may = not readers or user == "root" or user in FILES[name][4]
                want = 0 if may else errno.EACCES
                if "/by-name/" in path and not may_search(user, FILES[name][1]):
                    want = errno.ENOENT
                if (0 if isinstance(got, str) else got) != want:
                    wrong.append("%s: %s %s %s: %s, not %s" % (name, user, how, os.path.relpath(path, self.mnt), got, want))
        self.assertEqual(wrong, [])
        self.root_q(ids)

    def root_q(self, ids):
        """Everybody may open it; what it says depends on who does."""
        lines = "".join("%s %s\n" % (id, self.address) for id in ids.values())
        log = "".join("#0 %s+%s\n" % (id, self.address) for id in ids.values())
        for user in USERS:
            answer, told = self.as_user(user, [(lines, os.path.join(self.mnt, "q.tsv")),
                                               (log, os.path.join(self.mnt, "log"))])
            for name, q_line, log_line in zip(ids, self.records(answer), told.splitlines()):
                may = user == "root" or user in FILES[name][4]
                self.assertEqual("geo" in q_line, may, (user, name, q_line))
                self.assertEqual("geo" in log_line, may, (user, name, log_line))

    def test_nothing_is_converted_for_those_who_may_not_read_it(self):
        """What lines after the first ask for is prefetched, if the caller may read it."""
        private = self.make("private", 1, 0o600, 0o755, None, None)
        first = {"q.tsv": self.make("a", 2, 0o644, 0o755, None, None), "log": self.make("b", 3, 0o644, 0o755, None, None)}
        self.mount("allow_other").wait_scanned()
        for name, form in (("q.tsv", "%s %s\n"), ("log", "#0 %s+%s\n")):
            lines = "".join(form % (id, self.address) for id in (first[name], private))
            answer, = self.as_user("other", [(lines, os.path.join(self.mnt, name))])
            self.assertEqual(answer.count("geo"), self.as_user("other", [(form % (first[name], self.address),
                                                                          os.path.join(self.mnt, name))])[0].count("geo"))
            self.assertEqual((self.status(first[name])["state"], self.status(private)["state"]), ("ready", "cold"), name)

    def records(self, answer):
        """One text for each address of tab-separated lines: depth 0 begins one."""
        records = []
        for line in answer.splitlines():
            if line.split("\t")[1] == "0" or not records:
                records.append("")
            records[-1] += line
        return records

    def test_names_are_as_secret_as_paths(self):
        """What of by-path is closed to a user, by-name does not tell."""
        modes = {"d%o" % mode: mode for mode in (0o755, 0o700, 0o750, 0o710, 0o711, 0o751, 0o705)}
        ids = {name: self.make(name, number + 1, 0o644, mode, None, None)
               for number, (name, mode) in enumerate(modes.items())}
        # One name in two directories, and one below two of them.
        os.link(os.path.join(self.source, "dir-d700", "d700"), os.path.join(self.source, "dir-d700", "d755"))
        deep = os.path.join(self.source, "dir-d700", "dir-deep")
        os.mkdir(deep)
        shutil.copy(os.path.join(self.source, "dir-d755", "d755"), os.path.join(deep, "deep"))
        self.mount("allow_other", "rescan=1").wait_scanned()
        by_name, by_path = os.path.join(self.mnt, "by-name"), os.path.join(self.mnt, "by-path")
        for user in ("root", "other", "owner", "joined", "member", "named", "root", "other"):
            with self.subTest(user):
                shown = {name for name, mode in modes.items() if may_search(user, mode) and may_search(user, mode, 4)}
                inside = may_search(user, 0o700)
                shown |= {"deep"} if inside else set()
                plan = [(how, os.path.join(top, name)) for name in modes for how, top in
                        (("stat", by_name), ("stat", os.path.join(by_path, "dir-" + name)))]
                names, both, *found = self.as_user(user, [("names", by_name), ("names", by_name + "/d755"), *plan])
                self.assertEqual(set(names.split()), shown)
                self.assertEqual({name for name in both.split() if len(name) > 30}, {ids["d755"]} | ({ids["d700"]} if inside else set()))
                self.assertEqual("status" in both.split(), not inside)
                for name, here, there in zip(modes, found[::2], found[1::2]):
                    self.assertEqual((here, there), (0, 0) if may_search(user, modes[name])
                                     else (errno.ENOENT, errno.EACCES), name)
        os.chmod(os.path.join(self.source, "dir-d755"), 0o700)
        self.wait_scans()
        self.assertEqual(self.as_user("other", [("stat", by_name + "/d755")]), [errno.ENOENT])

    def test_permissions_are_always_checked(self):
        """default_permissions comes with allow_other and cannot be taken off."""
        for options in (["allow_other"], ["allow_root"], ["allow_other", "default_permissions"]):
            daemon = self.mount(*options)
            with open("/proc/self/mountinfo") as mounts:
                line = next(line for line in mounts if line.split()[4] == self.mnt)
            self.assertIn("default_permissions", line)
            self.assertEqual(daemon.stop(), 0)
        for option in ("nodefault_permissions", "no_default_permissions", "default_permissions=no"):
            done = run(GSYMFS, "-o", "allow_other," + option, self.source, self.mnt, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(option, done.stderr.decode())

    def test_without_allow_other_nobody_else_gets_in(self):
        id = self.make("open", 1, 0o644, 0o755, None, None)
        self.mount().wait_scanned()
        for how, path in (("list", self.mnt), ("read", os.path.join(self.mnt, id, "status")),
                          ("x\n", os.path.join(self.mnt, "q"))):
            self.assertEqual(self.as_user("other", [(how, path)]), [errno.EACCES])
            self.assertNotIn(self.as_user("root", [(how, path)]), [[errno.EACCES]])

    def test_daemon_of_an_ordinary_user(self):
        """In a mount namespace with a /dev/fuse that everybody may open, as most systems have."""
        try:
            user = pwd.getpwnam("nobody")  # fusermount3 wants a name
        except KeyError:
            self.skipTest("there is no user nobody")
        mine = self.make("mine", 1, 0o600, 0o755, None, None)
        theirs = self.make("theirs", 2, 0o600, 0o755, None, None)
        os.chown(os.path.join(self.source, "dir-mine", "mine"), user.pw_uid, user.pw_gid)
        for needed in ("unshare", "fusermount3"):
            if not tool(needed):
                self.skipTest(needed + " is not installed")
        if run("unshare", "-m", "true", check=False).returncode:
            self.skipTest("no private mounts here")
        programs = os.path.join(self.dir, "programs")
        os.mkdir(programs)
        for program in (GSYMFS, GSYM):
            shutil.copy2(program, programs)
        for path in (self.mnt, self.cache):
            os.chown(path, user.pw_uid, user.pw_gid)
        node = os.path.join(self.dir, "fuse")
        os.mknod(node, stat.S_IFCHR | 0o666, os.stat("/dev/fuse").st_rdev)
        os.chmod(node, 0o666)
        script = """
            mount --bind {node} /dev/fuse || exit 77
            exec setpriv --reuid {uid} --regid {gid} --clear-groups sh -c '
                {dir}/programs/gsymfs -o worker={dir}/programs/gsym,cache={cache} {source} {mnt} || exit 78
                cat {mnt}/{mine}/{address}; cat {mnt}/{theirs}/status; echo theirs $?
                fusermount3 -u {mnt}; echo unmounted $?'
        """.format(node=node, uid=user.pw_uid, gid=user.pw_gid, dir=self.dir, cache=self.cache, source=self.source, mnt=self.mnt,
                   mine=mine, theirs=theirs, address=self.address)
        done = run("unshare", "-m", "sh", "-c", script, check=False)
        said = done.stdout.decode() + done.stderr.decode()
        if done.returncode == 77 or "failed to open /dev/fuse" in said:
            self.skipTest("no private /dev/fuse can be had here: " + said)
        self.assertIn("geo::point::norm", said)
        self.assertIn("theirs 1", said)
        self.assertIn("unmounted 0", said)


if __name__ == "__main__":
    mount_harness.main()
