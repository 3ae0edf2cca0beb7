-- Why a turn ended without its answer, as the user was told.
ALTER TABLE oracle_messages ADD COLUMN failure {{text}} NOT NULL DEFAULT '';
