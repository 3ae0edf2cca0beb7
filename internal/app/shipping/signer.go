package shipping

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/replica"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// Signer is the key, as a DID, that signs the replica of the deployment whose settings
// these are; empty where neither they nor the data folder have ORACLE_KEY.
//
// Decision: ADR 0280.
func Signer(s *config.Settings) (did.DID, error) {
	key := s.Identity.OracleKey
	if len(key) == 0 {
		var err error
		key, _, err = keyring.Read(keyring.File(s, "ORACLE_KEY"))
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
	}
	signer, err := signerOf(key)
	return signer.DID(), err
}

func signerOf(key config.Key) (did.Signer, error) {
	signer, err := did.SignerFromSeed(key)
	if err != nil {
		return signer, fmt.Errorf("ORACLE_KEY: %w", err)
	}
	return signer, nil
}

// Expect has a restore refuse what others signed than whoever is wanted, or the
// deployment of these settings.
func Expect(s *config.Settings, want *replica.Wanted) error {
	want.Verify = verify
	mine, err := Signer(s)
	switch {
	case err != nil:
		return err
	case want.Signer == "":
		want.Signer = string(mine)
	case mine != "" && string(mine) != want.Signer:
		return fmt.Errorf("--signer %s: ORACLE_KEY is set to the key of %s", want.Signer, mine)
	}
	return nil
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
