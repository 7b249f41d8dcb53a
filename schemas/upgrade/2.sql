-- SPDX-License-Identifier: MIT
-- From version 2 to 3. Each step was a row of its own, before steps were counted.

-- unless step.steps
ALTER TABLE step ADD COLUMN steps INTEGER NOT NULL DEFAULT 1;
