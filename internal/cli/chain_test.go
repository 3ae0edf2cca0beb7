package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChainImportAndList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	reply := filepath.Join(dir, "reply.json")
	if err := os.WriteFile(reply, []byte(`{"entity":{"id":"did:ixo:entity:9","type":"dao"},"iidDocument":{"id":"did:ixo:entity:9"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	data := deployed(t)
	if out, errs, code := run(t, nil, "chain", "list", "--data", data); code != 0 || !strings.Contains(out, "No records") {
		t.Errorf("empty list: exit %d: %s%s", code, out, errs)
	}
	if out, errs, code := run(t, nil, "chain", "import", "--data", data, reply); code != 0 || !strings.Contains(out, "2 added, 0 replaced") {
		t.Errorf("import: exit %d: %s%s", code, out, errs)
	}
	if out, errs, code := run(t, nil, "chain", "list", "--data", data); code != 0 || !strings.Contains(out, "entities") ||
		!strings.Contains(out, "did:ixo:entity:9") {
		t.Errorf("list: exit %d: %s%s", code, out, errs)
	}
	if out, _, code := run(t, nil, "chain", "list", "--json", "--data", data); code != 0 || !strings.Contains(out, `"type":"dao"`) {
		t.Errorf("list --json: exit %d: %s", code, out)
	}
	for _, args := range [][]string{{"chain"}, {"chain", "drop"}, {"chain", "import", "--data", data}} {
		if _, _, code := run(t, nil, args...); code != 2 {
			t.Errorf("%v: exit %d", args, code)
		}
	}
	if err := os.WriteFile(reply, []byte("things: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := run(t, nil, "chain", "import", "--data", data, reply); code != 1 || !strings.Contains(errs, `no table "things"`) {
		t.Errorf("bad import: exit %d: %s", code, errs)
	}
}
