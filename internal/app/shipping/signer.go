package shipping

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// Signer signs replicas and archives of the deployment whose settings these are, by
// the DID of its key; nobody where neither they nor the data folder have ORACLE_KEY.
//
// Decisions: ADR 0280, ADR 0288.
func Signer(s *config.Settings) (archive.Signer, error) {
	key := s.Identity.OracleKey
	if len(key) == 0 {
		var err error
		key, _, err = keyring.Read(keyring.File(s, "ORACLE_KEY"))
		if errors.Is(err, fs.ErrNotExist) {
			return archive.Signer{}, nil
		}
		if err != nil {
			return archive.Signer{}, err
		}
	}
	return signing(key)
}

func signing(key config.Key) (archive.Signer, error) {
	signer, err := did.SignerFromSeed(key)
	if err != nil {
		return archive.Signer{}, fmt.Errorf("ORACLE_KEY: %w", err)
	}
	return archive.Signer{Name: string(signer.DID()), Sign: signer.Sign}, nil
}

// Expect has a restore refuse what others signed than whoever is wanted; where nobody is
// named, the deployment of these settings.
func Expect(s *config.Settings, want *archive.Author) error {
	want.Verify = verify
	if want.Signer != "" {
		return nil // which may be an earlier key than the one that is set
	}
	mine, err := Signer(s)
	want.Signer = mine.Name
	return err
}

func verify(signer string, text, signature []byte) error {
	key, err := did.ParseKey(did.DID(signer))
	if err != nil {
		return fmt.Errorf("its signer %q is no key: %w", signer, err)
	}
	if !key.Verify(did.EdDSA, text, signature) {
		return errors.New("its signature is not good: it was changed since it was written")
	}
	return nil
}
