-- What WebDAV clients ask to be kept: properties of files and folders by their id,
-- written as XML, and locks. A lock is on a path, and deep when it holds for all below.
CREATE TABLE filestore_props (
  owner {{text}} NOT NULL,
  space {{text}} NOT NULL,
  name {{text}} NOT NULL,
  xml {{text}} NOT NULL,
  PRIMARY KEY (owner, space, name)
) {{clustered}};

CREATE TABLE filestore_locks (
  ns {{text}} NOT NULL,
  path {{text}} NOT NULL,
  token {{text}} NOT NULL,
  deep {{int}} NOT NULL,
  shared {{int}} NOT NULL,
  owner_xml {{text}} NOT NULL,
  holder {{text}} NOT NULL,
  timeout_ms {{int}} NOT NULL,
  expires_ms {{int}} NOT NULL,
  PRIMARY KEY (ns, path, token)
) {{clustered}};
CREATE INDEX filestore_locks_expiry ON filestore_locks (expires_ms);
