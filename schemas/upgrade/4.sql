-- SPDX-License-Identifier: MIT
-- From version 4 to 5: table call says which calls are above those that do the I/O.

-- unless call.higher_layer
ALTER TABLE call ADD COLUMN higher_layer INTEGER NOT NULL DEFAULT 0;

-- if call.higher_layer
UPDATE call SET higher_layer = 1 WHERE layer = 'MPIIO' OR call_group = 'queue';
