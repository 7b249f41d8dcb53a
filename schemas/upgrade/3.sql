-- SPDX-License-Identifier: MIT
-- From version 3 to 4: columns with other names. Some had them before the version
-- was raised.

-- if site.place
ALTER TABLE site RENAME COLUMN place TO location;

-- if mapped_io.told_bytes
ALTER TABLE mapped_io RENAME COLUMN told_bytes TO known_bytes;

-- if thread_sequence.upper_calls
ALTER TABLE thread_sequence RENAME COLUMN upper_calls TO higher_calls;

-- if thread_sequence.upper_hash
ALTER TABLE thread_sequence RENAME COLUMN upper_hash TO higher_hash;
