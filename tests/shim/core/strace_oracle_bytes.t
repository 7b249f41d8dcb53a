#!/bin/bash
# SPDX-License-Identifier: MIT
# strace_oracle_bytes: calls, bytes and offsets of real programs, compared with
# strace in the same run. More programs: tests/suites/oracle.
exec "$(dirname "$0")/../../suites/oracle" ${JOBS_OF_ORACLE:-sqlite h5py_job}
