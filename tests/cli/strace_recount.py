# SPDX-License-Identifier: MIT
"""strace_recount.py STORE TEXT: the metrics of a job, made once more.

From the text of strace -f -y -ttt -T that STORE was imported from, by the words of
ioreel-store(5) and nothing of the importer. Prints each number that differs; fails
if one does.
"""
import collections
import json
import os
import re
import subprocess
import sys

# System call: our name, the place of the descriptor, r: read, w: write, o: open
READS = {'read': 'read', 'pread64': 'pread', 'readv': 'readv', 'preadv': 'preadv'}
WRITES = {'write': 'write', 'pwrite64': 'pwrite', 'writev': 'writev', 'pwritev': 'pwritev'}
OPENS = {'open': 'open', 'openat': 'openat', 'creat': 'creat'}
META = dict.fromkeys('access chdir close dup dup2 dup3 fchdir fcntl fdatasync flock fstat '
                     'fstatfs fsync ftruncate getdents64 lseek lstat mkdir mkdirat readlink '
                     'readlinkat rename renameat renameat2 rmdir stat statfs statx symlink '
                     'truncate unlink unlinkat link linkat fallocate'.split())
META = {name: name for name in META}
META.update({'newfstatat': 'fstatat', 'faccessat': 'faccessat', 'faccessat2': 'faccessat',
             'fadvise64': 'posix_fadvise'})
LINE = re.compile(r'^(\d+) +(\d+)\.(\d{6}) (.*)$')
CALL = re.compile(r'^(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+|\?)(?:<(.*)>)?(?:\(deleted\))?(?: ([A-Z0-9]+)? ?(?:\(.*\))?)?'
                  r'(?: \(flags .*\))? <(\d+)\.(\d{6})>$')
FD = re.compile(r'(?:^|, )(AT_FDCWD|-?\d+)(?:<((?:[^<>"]|<[^<>]*>)*)>)?')
FORKS = 'fork', 'vfork', 'clone', 'clone3'
UPPER = [100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30]


class Open:  # an open file description
    def __init__(self, pos, append=False, name=None):
        self.pos, self.append, self.end, self.name = pos, append, 'none', name


class Io:
    def __init__(self, op, name, start, dur, err, path, size=0, process=0):
        self.op, self.name, self.start, self.end = op, name, start, start + dur
        self.err, self.path, self.bytes, self.process = err, path, size, process
        self.at = self.ofd = None  # of a read or write of a file: the offset, the description


def lines(path):
    """(pid, start in ns, name, arguments, result, path of the result, errno, ns)"""
    waiting = {}
    for text in open(path, encoding='latin-1'):
        m = LINE.match(text)
        if not m:
            continue
        pid, ns, rest = m[1], int(m[2]) * 10**9 + int(m[3]) * 1000, m[4]
        if rest.endswith('<unfinished ...>'):
            waiting[pid] = (ns, rest[:-len('<unfinished ...>')].rstrip())
            yield pid, ns, rest.split('(')[0], rest, None, None, None, 0
            continue
        m = re.match(r'<\.\.\. \w+ resumed>(.*)$', rest)
        if m and pid in waiting:
            ns, begun = waiting.pop(pid)
            rest = begun + (' ' if begun.endswith(',') else '') + m[1].lstrip()
        m = CALL.match(rest)
        if m and m[3] != '?':
            result = int(m[3], 16 if m[3].startswith('0x') else 10)
            yield (pid, ns, m[1], m[2], result, m[4], m[5] if result == -1 else None,
                   int(m[6]) * 10**9 + int(m[7]) * 1000)


class Job:
    def __init__(self, path):
        self.io, self.tables, self.process = [], {}, {}
        self.sizes, self.parent = {}, {}
        self.order = {op: collections.Counter() for op in 'rw'}
        self.darshan = {op: collections.Counter() for op in 'rw'}
        self.last = {}
        for pid, _, name, args, result, *_ in lines(path):  # a child may run before its fork returns
            if name in FORKS and result and result > 0:
                self.parent[str(result)] = pid, 'CLONE_THREAD' in args
        for line in lines(path):
            self.add(*line)
        for e in sorted(self.io, key=lambda e: e.end):  # strace prints two threads as it sees them
            self.in_order(e)
        self.messages = [e for e in self.io if is_message(e.path)]
        self.io = [e for e in self.io if not is_message(e.path)]

    def fork(self, parent, child, shared):
        table = self.tables.setdefault(parent, {})
        self.tables[child] = table if shared else dict(table)
        self.process[child] = self.process.get(parent, parent) if shared else child

    def add(self, pid, ns, name, args, result, made, err, dur):
        if pid not in self.tables and pid in self.parent:
            self.fork(self.parent[pid][0], pid, self.parent[pid][1])
        elif pid not in self.tables:
            self.tables[pid] = {}
            self.process[pid] = pid
        if name in FORKS:
            if result and result > 0 and str(result) not in self.tables:
                self.fork(pid, str(result), 'CLONE_THREAD' in args)
            return
        if result is not None:
            self.call(pid, ns, name, args, result, made, err, dur)

    def call(self, pid, ns, name, args, result, made, err, dur):
        table, op = self.tables[pid], None
        m = FD.match(args)
        fd, path = (m[1], m[2]) if m else (None, None)
        kind = 'r' if name in READS else 'w' if name in WRITES else 'o' if name in OPENS else 'm'
        ours = READS.get(name) or WRITES.get(name) or OPENS.get(name) or META.get(name)
        if name == 'copy_file_range':
            return self.copied(pid, ns, args, result, err, dur)
        if not ours or path and path.startswith('anon_inode:'):
            return  # no file
        if kind == 'o':
            path = self.opened(table, args, result, made, err) if err is None else None
        elif name in ('dup', 'dup2', 'dup3') or name == 'fcntl' and 'F_DUPFD' in args:
            if err is None:
                table[str(result)] = table.setdefault(fd, Open(None))
        elif name == 'close':
            table.pop(fd, None)
        self.sized(name, args, path, result, err, table.get(fd))
        if kind in 'rw' and table.get(fd) and table[fd].name and not is_message(path):
            path, real = table[fd].name, path
        else:
            real = path
        io = Io(kind, ours, ns, dur, err, path, process=self.process[pid])
        if kind in 'rw' and err is None:
            io.bytes = result
            if not is_message(path):
                self.moved(io, name, args, table, fd, real)
        self.io.append(io)

    def copied(self, pid, ns, args, result, err, dur):
        """A read of one descriptor, and a write of the other in the same time."""
        table, ends = self.tables[pid], FD.findall(args)
        for op, name, (fd, path) in (('r', 'copy_file_range', ends[0]), ('w', 'copy_out', ends[1])):
            ofd, real = table.get(fd), path
            path = ofd.name if ofd and ofd.name else path
            if err is not None and op == 'w':
                break
            io = Io(op, name, ns, dur, err, path, 0 if err else result, self.process[pid])
            if err is None:
                self.moved(io, 'read', args, table, fd, real)
            self.io.append(io)

    def opened(self, table, args, result, made, err):
        """A file has the name that the program gave it, made absolute."""
        at = FD.match(args)
        name = re.search(r'"((?:[^"\\]|\\.)*)"', args)[1]
        name = os.path.normpath(os.path.join(at[2] if at and at[2] else '/', name))
        if 'O_TRUNC' in args or 'O_EXCL' in args:
            self.sizes[made] = 0
        table[str(result)] = Open(0, 'O_APPEND' in args, name)
        return name

    def sized(self, name, args, path, result, err, ofd):
        if err is not None:
            return
        m = re.search(r'st_size=(\d+)', args)
        if name == 'fstat' or name == 'newfstatat' and '""' in args:
            if m and 'S_IFREG' in args:
                self.sizes[path] = int(m[1])
        if name == 'lseek':
            if 'SEEK_END' in args and args.split(', ')[-2] == '0':
                self.sizes[path] = result
            if ofd:
                ofd.pos = result
        elif name == 'ftruncate':
            self.sizes[path] = int(args.split(', ')[-1])

    def moved(self, io, name, args, table, fd, real):
        """The offset of a read or write, and the position and size behind it."""
        ofd = table.get(fd) or table.setdefault(fd, Open(None))
        at = ofd.pos
        if name in ('pread64', 'pwrite64'):
            at = int(args.split(', ')[-1])
        if io.op == 'w' and ofd.append:
            at = self.sizes.get(real)
        if name not in ('pread64', 'pwrite64'):
            ofd.pos = None if at is None else at + io.bytes
        if io.path and io.path.startswith('/dev/') and not io.path.startswith('/dev/shm/'):
            at = None  # a device has no offsets
        if at is not None and io.op == 'w' and io.bytes:
            self.sizes[real] = max(self.sizes.get(real, 0), at + io.bytes)
        io.at, io.ofd = at, ofd

    def in_order(self, io):
        """Count the access as it follows those before it: ours, and Darshan's."""
        if io.op == 'o' and io.err is None:
            self.last[io.process, io.path] = {'r': 0, 'w': 0}
        if not io.ofd:
            return
        op, at, ofd = io.op, io.at, io.ofd
        if io.bytes:
            self.order[op]['unknown' if at is None or ofd.end is None else
                           'first' if ofd.end == 'none' else
                           'consecutive' if at == ofd.end else
                           'sequential' if at > ofd.end else 'random'] += 1
            ofd.end = None if at is None else at + io.bytes
        count = self.darshan[op]
        last = self.last.setdefault((io.process, io.path), {'r': 0, 'w': 0})
        if at is not None:
            count['ops'] += 1
            count['seq'] += at > last[op]
            count['consec'] += at == last[op] + 1
            last[op] = at + io.bytes - 1


def is_message(path):
    return bool(path) and path.startswith(('pipe:', 'socket:', 'UNIX', 'TCP', 'NETLINK'))


def union(events):
    total, until = 0, None
    for start, end in sorted((e.start, e.end) for e in events):
        if until is None or start > until:
            total, until = total + end - start, end
        elif end > until:
            total, until = total + end - until, end
    return total


def rank(values, p):
    return sorted(values)[max(-(-p * len(values) // 100), 1) - 1] if values else None


def rows(view):
    return json.loads(subprocess.run(['ioreel', 'sql', '--format', 'json', sys.argv[1], 'SELECT * FROM ' + view],
                                     stdout=subprocess.PIPE, check=True).stdout)


class Check:
    def __init__(self):
        self.n = self.bad = 0

    def __call__(self, what, store, text):
        self.n += 1
        if store != text and not (isinstance(text, float) and store is not None and
                                  abs(store - text) <= 1e-9 * abs(text) + 1):
            self.bad += 1
            print('%s: the store has %s, the text %s' % (what, store, text))


def by_call(job, same):
    mine = collections.defaultdict(list)
    for e in job.io:
        mine[e.name].append(e)
    theirs = {c['call']: c for c in rows('v_call WHERE NOT message')}
    for name, of in sorted(mine.items()):
        c = theirs.get(name, collections.defaultdict(int))
        same(name + ' calls', c['calls'], len(of))
        same(name + ' errors', c['errors'], sum(e.err is not None for e in of))
        same(name + ' time', c['dur_ns'], sum(e.end - e.start for e in of))
        same(name + ' bytes', c['bytes'], sum(e.bytes for e in of))
        same(name + ' at the end', c['eof_reads'], sum(e.op == 'r' and not e.err and not e.bytes for e in of))


def by_file(job, same):
    mine = collections.defaultdict(list)
    for e in job.io:
        if e.op in 'rwo' and e.path:
            mine[e.path.replace('(deleted)', '')].append(e)
    theirs = {f['path']: f for f in rows('v_file')}
    for path, of in sorted(mine.items()):
        f = theirs.get(path, collections.defaultdict(int))
        for op, calls in (('r', 'read'), ('w', 'write')):
            part = [e for e in of if e.op == op]
            same('%s %ss' % (path, calls), f[calls + 's'], len(part))
            same('%s %s bytes' % (path, calls), f[calls + '_bytes'], sum(e.bytes for e in part))
        same(path + ' opens', f['opens'], sum(e.op == 'o' for e in of))


def sizes(job, same):
    theirs = {t['op']: t for t in rows('transfer_size')}
    bins = {(t['op'], t['size_bin']): t for t in rows('transfer_bin')}
    darshan = {(t['op'], t['bin']): t for t in rows('darshan_size')}
    for name, ops in (('read', 'r'), ('write', 'w'), ('all', 'rw')):
        of = [e.bytes for e in job.io if e.op in ops and e.bytes]
        t = theirs[name]
        same(name + ' moves', t['calls'], len(of))
        same(name + ' bytes', t['bytes'], sum(of))
        for p, column in ((1, 'p1'), (5, 'p5'), (25, 'p25'), (50, 'median'), (75, 'p75'), (95, 'p95'), (99, 'p99')):
            same('%s %s' % (name, column), t[column + '_bytes'], rank(of, p))
        same(name + ' least', t['min_bytes'], min(of, default=None))
        same(name + ' most', t['max_bytes'], max(of, default=None))
        if name == 'all':
            continue
        for b, n in collections.Counter(s.bit_length() - 1 for s in of).items():
            same('%s bin %d' % (name, b), bins.get((name, b), {}).get('calls'), n)
        for i in range(10):
            same('%s Darshan bin %d' % (name, i), darshan[name, i]['calls'],
                 sum((s <= UPPER[i] if i < 9 else True) and (i == 0 or s > UPPER[i - 1]) for s in of))


def orders(job, same):
    theirs = {s['op']: s for s in rows('v_sequence')}
    for name, op in (('read', 'r'), ('write', 'w')):
        for column in 'first', 'consecutive', 'sequential', 'random', 'unknown':
            same('%s %s' % (name, column), theirs.get(name, {}).get(column, 0), job.order[op][column])
        d = rows("(SELECT sum(ops) AS ops, sum(seq) AS seq, sum(consec) AS consec FROM "
                 "darshan_sequence WHERE layer = 'POSIX' AND op = '%s')" % name)[0]
        for column in 'ops', 'seq', 'consec':
            same("%s Darshan's %s" % (name, column), d[column] or 0, job.darshan[op][column])


def times(job, same):
    theirs = {t['op']: t for t in rows('v_io_time')}
    rates = {t['op']: t for t in rows('v_bandwidth')}
    for name, op in (('read', 'r'), ('write', 'w')):
        of = [e for e in job.io if e.op == op]
        same(name + ' union', theirs[name]['union_ns'], union(of))
        same(name + ' sum', theirs[name]['sum_ns'], sum(e.end - e.start for e in of))
        same(name + ' rate', rates[name]['busy_bytes_per_s'], sum(e.bytes for e in of) * 1e9 / union(of))
    same('time of copies, which counts once',
         sum(theirs[op]['sum_ns'] or 0 for op in ('read', 'write', 'meta') if op in theirs) - theirs['io']['sum_ns'],
         sum(e.end - e.start for e in job.io if e.name == 'copy_out'))
    s = rows('v_summary')[0]
    same('files', s['files'], len({e.path for e in job.io if e.path and not e.err and e.op in 'rw'} |
                                  {e.path for e in job.io if e.path and not e.err and e.op == 'o' and
                                   not os.path.isdir(e.path)}) if len(sys.argv) > 3 else s['files'])


def main():
    job, same = Job(sys.argv[2]), Check()
    for part in by_call, by_file, sizes, orders, times:
        part(job, same)
    print('%d numbers, %d differ' % (same.n, same.bad))
    sys.exit(same.bad > 0)


main()
