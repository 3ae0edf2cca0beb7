-- How many characters the properties of a namespace have together, which no quota counts.
CREATE TABLE filestore_props_size (
  ns {{text}} NOT NULL PRIMARY KEY,
  size {{int}} NOT NULL
) {{clustered}};
INSERT INTO filestore_props_size (ns, size)
  SELECT held.ns, SUM(held.size) FROM (
    SELECT f.ns AS ns, LENGTH(p.xml) AS size FROM filestore_props p JOIN filestore_files f ON f.id = p.owner
    UNION ALL SELECT d.ns AS ns, LENGTH(p.xml) AS size FROM filestore_props p JOIN filestore_folders d ON d.id = p.owner
  ) AS held GROUP BY held.ns;
