#!/bin/bash
# SPDX-License-Identifier: MIT
# strace_oracle_bytes: calls, bytes and offsets of real programs, as strace sees
# them in the same run. More of them: tests/suites/oracle.
exec "$(dirname "$0")/../../suites/oracle" ${JOBS_OF_ORACLE:-sqlite h5py_job}
