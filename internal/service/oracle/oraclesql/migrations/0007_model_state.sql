-- What a model was told beside a question, and what its provider wants back with
-- an answer, so that later requests begin with the same bytes.
ALTER TABLE oracle_messages ADD COLUMN note {{text}} NOT NULL DEFAULT '';
ALTER TABLE oracle_messages ADD COLUMN model_state {{text}} NOT NULL DEFAULT '';
