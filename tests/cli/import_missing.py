# SPDX-License-Identifier: MIT
"""import_missing.py SAMPLE...: do ioreel import --list, the report and its JSON name the
same missing values for each sample, and does the store hold none of them?

Prints the formats that were seen.
"""
import json
import os
import re
import subprocess
import sys

IOREEL = os.environ["IOREEL"]


def run(*args):
    return subprocess.run([IOREEL, *args], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout


def one(query):
    return json.loads(run("sql", "--format", "json", "s.db", query))[0]


# Values that a format lacks in all its files: a query that finds one.
LACKS = {
    "files": "SELECT count(*) AS n FROM v_file",
    "calls": "SELECT count(*) AS n FROM v_event WHERE layer IN ('POSIX', 'STDIO')",
    "durations": "SELECT count(*) AS n FROM v_event WHERE dur_ns > 0",
    "errno": "SELECT count(*) AS n FROM v_event WHERE errno > 0",
    "spans": "SELECT count(*) AS n FROM span",
    "ranks": "SELECT count(*) AS n FROM process WHERE rank >= 0",
    "rank numbers": "SELECT count(*) AS n FROM process WHERE rank >= 0",
    "descriptors": "SELECT count(*) AS n FROM event WHERE fd >= 0",
    "MPI calls": "SELECT count(*) AS n FROM v_event WHERE layer = 'MPIIO'",
    "stdio calls": "SELECT count(*) AS n FROM v_event WHERE layer = 'STDIO'",
}


def main():
    listed, name = {}, None
    for line in run("import", "--list").splitlines():
        if line.startswith(" "):
            listed[name] = line.split("not in it: ")[1]
        else:
            name = line.split(":")[0]
    bad, seen = [], set()
    for sample in sys.argv[1:]:
        if os.path.exists("s.db"):
            os.remove("s.db")
        if subprocess.run([IOREEL, "import", "-q", sample, "-o", "s.db"],
                          stderr=subprocess.DEVNULL).returncode:
            continue
        sources = json.loads(run("report", "--json", "s.db"))["sources"]
        text = re.sub(r"\s+", " ", run("report", "s.db"))
        for source in sources:
            seen.add(source["format"])
            words = listed[source["format"]]
            if "; ".join(source["missing"]).replace(";", ",") != words.replace(";", ","):
                bad.append((sample, "--list:", words, "JSON:", source["missing"]))
            if "without " + "; ".join(source["missing"]) not in text:
                bad.append((sample, "the report does not name", source["missing"]))
        for value in set(sources[0]["missing"]) & set(LACKS):
            if one(LACKS[value])["n"]:
                bad.append((sample, "has what it lacks:", value))
    for line in bad:
        print(*line, file=sys.stderr)
    print(" ".join(sorted(seen)))
    sys.exit(bool(bad))


main()
