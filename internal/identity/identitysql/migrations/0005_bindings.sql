-- In whose name keys sign, where it is not their own, and which were lost. A row that
-- changes gets a new number of the feed "identity_bindings". before_did is the key whose
-- place it took, '' of the one that the person began with.
CREATE TABLE identity_bindings (
  key_did {{text}} NOT NULL PRIMARY KEY,
  feed {{int}} NOT NULL,
  person {{text}} NOT NULL,
  lost {{int}} NOT NULL,
  before_did {{text}} NOT NULL,
  bound_by {{text}} NOT NULL,
  at_ms {{int}} NOT NULL
) {{table}};
CREATE UNIQUE INDEX identity_bindings_feed ON identity_bindings (feed);
CREATE UNIQUE INDEX identity_bindings_live ON identity_bindings (person) WHERE lost = 0;
