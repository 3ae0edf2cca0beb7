-- A turn that is asked anew is a version of the first one: it has the same turn
-- before it, and hides what followed the others. Only sessions in which that
-- happened have rows here, and turns behind the last change have none yet.
CREATE TABLE oracle_turns (
  session_id {{text}} NOT NULL,
  turn       {{int}} NOT NULL,
  parent     {{int}} NOT NULL,
  root       {{int}} NOT NULL,
  kind       {{text}} NOT NULL,
  chosen     {{int}} NOT NULL,
  hidden     {{int}} NOT NULL,
  PRIMARY KEY (session_id, turn)
) {{clustered}};
ALTER TABLE oracle_sessions ADD COLUMN branch {{int}} NOT NULL DEFAULT 0;

-- What owners think of answers.
CREATE TABLE oracle_feedback (
  session_id {{text}} NOT NULL,
  message_id {{text}} NOT NULL,
  rating     {{text}} NOT NULL,
  remark     {{text}} NOT NULL,
  model      {{text}} NOT NULL,
  day        {{int}} NOT NULL,
  at_ms      {{int}} NOT NULL,
  PRIMARY KEY (session_id, message_id)
) {{clustered}};
CREATE INDEX oracle_feedback_day ON oracle_feedback (day, model, rating);
