package localchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

// SeedFile is the name of the seed in the data folder.
const SeedFile = "chain.yaml"

// maxSeed bounds the seed file.
const maxSeed = 64 << 20

// Seed holds the records as they stand in the file: each as a chain's own
// gateway writes it.
type Seed struct {
	Tables        map[string][]any
	Params        map[string]any
	TokenMetadata map[string]any
}

// Names of the members that are no tables.
const (
	paramsMember   = "params"
	metadataMember = "tokenMetadata"
)

// ReadSeed reads a seed file; one that is not there is empty.
func ReadSeed(path string) (Seed, error) {
	seed := Seed{Tables: make(map[string][]any), Params: make(map[string]any), TokenMetadata: make(map[string]any)}
	if path == "" {
		return seed, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return seed, nil
	}
	if err != nil {
		return seed, fmt.Errorf("read seed: %w", err)
	}
	if info.Size() > maxSeed {
		return seed, fmt.Errorf("read seed: %s is larger than %d bytes", path, maxSeed)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return seed, fmt.Errorf("read seed: %w", err)
	}
	if err := seed.add(text); err != nil {
		return seed, fmt.Errorf("read seed %s: %w", path, err)
	}
	return seed, nil
}

// add merges YAML or JSON: a seed, or the reply of a chain's REST gateway.
func (s *Seed) add(text []byte) error {
	var document map[string]any
	if err := yamlfile.Unmarshal(text, &document, maxSeed); err != nil {
		return fmt.Errorf("not YAML or JSON: %w", err)
	}
	for _, member := range slices.Sorted(maps.Keys(document)) {
		value := document[member]
		switch member {
		case "pagination": // of a reply
		case paramsMember:
			params, ok := value.(map[string]any)
			if !ok {
				return errors.New("params: want a mapping of entity, claims and token")
			}
			for name := range params {
				if _, ok := singles[name]; !ok {
					return fmt.Errorf("params: there is no %q; there are entity, claims and token", name)
				}
			}
			maps.Copy(s.Params, params)
		case metadataMember:
			byID, ok := value.(map[string]any)
			if !ok {
				return errors.New("tokenMetadata: want a mapping by token id")
			}
			maps.Copy(s.TokenMetadata, byID)
		default:
			if err := s.addRecords(member, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Seed) addRecords(member string, value any) error {
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == member || slices.Contains(k.replies, member) })
	if at < 0 {
		return fmt.Errorf("there is no table %q; there are %s, params and tokenMetadata", member, strings.Join(tableNames(), ", "))
	}
	table := kinds[at].name
	switch v := value.(type) {
	case nil:
	case []any:
		s.Tables[table] = append(s.Tables[table], v...)
	case map[string]any:
		s.Tables[table] = append(s.Tables[table], v)
	default:
		return fmt.Errorf("%s: want a list of records", member)
	}
	return nil
}

func tableNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Change is what an import did.
type Change struct {
	Added, Replaced int
	Warnings        []string
}

// Import merges records into the seed file and writes it whole. A record
// replaces the one with its key. Nothing is written when anything is wrong.
func Import(ctx context.Context, path string, text []byte) (Change, error) {
	s, err := loadSchema(ctx)
	if err != nil {
		return Change{}, err
	}
	seed, err := ReadSeed(path)
	if err != nil {
		return Change{}, err
	}
	old, _, err := s.state(seed)
	if err != nil {
		return Change{}, fmt.Errorf("the present seed %s: %w", path, err)
	}
	fresh := Seed{Tables: make(map[string][]any), Params: make(map[string]any), TokenMetadata: make(map[string]any)}
	if err := fresh.add(text); err != nil {
		return Change{}, err
	}
	incoming, warnings, err := s.state(fresh)
	if err != nil {
		return Change{}, err
	}
	change := Change{Warnings: warnings}
	for table, records := range incoming.tables {
		for _, r := range records {
			if old.find(table, r.key) != nil {
				change.Replaced++
			} else {
				change.Added++
			}
		}
	}
	change.Added += len(fresh.Params) + len(fresh.TokenMetadata)
	maps.Copy(seed.Params, fresh.Params)
	maps.Copy(seed.TokenMetadata, fresh.TokenMetadata)
	for table, records := range fresh.Tables {
		seed.Tables[table] = append(seed.Tables[table], records...)
	}
	if err := s.dropReplaced(seed); err != nil {
		return Change{}, err
	}
	return change, seed.write(path)
}

// dropReplaced leaves the last record of each key.
func (s *schema) dropReplaced(seed Seed) error {
	for _, k := range kinds {
		last := make(map[string]int)
		keys := make([]string, len(seed.Tables[k.name]))
		for i, raw := range seed.Tables[k.name] {
			m, _, err := s.decode(k.message, raw)
			if err != nil {
				return fmt.Errorf("%s[%d]: %w", k.name, i, err)
			}
			if keys[i], err = k.keyOf(m); err != nil {
				return fmt.Errorf("%s[%d]: %w", k.name, i, err)
			}
			last[keys[i]] = i
		}
		var kept []any
		for i, raw := range seed.Tables[k.name] {
			if last[keys[i]] == i {
				kept = append(kept, raw)
			}
		}
		seed.Tables[k.name] = kept
	}
	return nil
}

// write replaces the file in one step.
func (s Seed) write(path string) error {
	var document yaml.MapSlice
	for _, k := range kinds {
		if len(s.Tables[k.name]) > 0 {
			document = append(document, yaml.MapItem{Key: k.name, Value: s.Tables[k.name]})
		}
	}
	if len(s.TokenMetadata) > 0 {
		document = append(document, yaml.MapItem{Key: metadataMember, Value: s.TokenMetadata})
	}
	if len(s.Params) > 0 {
		document = append(document, yaml.MapItem{Key: paramsMember, Value: s.Params})
	}
	text, err := yaml.Marshal(document)
	if err != nil {
		return fmt.Errorf("write seed: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write seed: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".chain-*.yaml")
	if err != nil {
		return fmt.Errorf("write seed: %w", err)
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write seed: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

// Listed is one record of a seed, for people.
type Listed struct {
	Table string `json:"table"`
	Key   string `json:"key"`
	Title string `json:"title,omitempty"`
	// Record is the whole record as it stands in the file.
	Record json.RawMessage `json:"record"`
}

// List returns the records of a seed file, checked.
func List(ctx context.Context, path string) ([]Listed, error) {
	s, err := loadSchema(ctx)
	if err != nil {
		return nil, err
	}
	seed, err := ReadSeed(path)
	if err != nil {
		return nil, err
	}
	var all []Listed
	add := func(table, key, title string, raw any) error {
		text, err := json.Marshal(raw)
		if err != nil {
			return fmt.Errorf("list %s: %w", table, err)
		}
		all = append(all, Listed{table, key, title, text})
		return nil
	}
	for _, k := range kinds {
		for i, raw := range seed.Tables[k.name] {
			m, _, err := s.decode(k.message, raw)
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", k.name, i, err)
			}
			key, err := k.keyOf(m)
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", k.name, i, err)
			}
			if err := add(k.name, strings.ReplaceAll(key, keySeparator, " "), k.titleOf(m), raw); err != nil {
				return nil, err
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(seed.TokenMetadata)) {
		if err := add(metadataMember, id, "", seed.TokenMetadata[id]); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seed.Params)) {
		if err := add(paramsMember, name, "", seed.Params[name]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (k kind) titleOf(m protoreflect.Message) string {
	if k.title == "" {
		return ""
	}
	return fieldText(m, k.title)
}
