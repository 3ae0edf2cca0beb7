package config_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
)

func load(t *testing.T, in config.Input) (config.Settings, []config.Setting) {
	t.Helper()
	var s config.Settings
	all, err := config.Load(&s, in)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return s, all
}

func TestDefaultsStand(t *testing.T) {
	t.Parallel()
	s, _ := load(t, config.Input{})
	if s.Server.Port != 3000 || s.USSD.SessionTTL != 180*time.Second || s.Files.MaxUpload != 5<<30 {
		t.Fatalf("defaults: %+v %+v %+v", s.Server, s.USSD, s.Files)
	}
	if s.USSD.ResumeWindow != 0 || s.Oracle.Provider != "guide" || len(s.Server.CORSOrigin) != 1 {
		t.Fatalf("defaults: %+v %+v", s.USSD, s.Oracle)
	}
}

func TestFlagsBeatEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	t.Parallel()
	in := config.Input{File: []byte("PORT: 1\nHOST: file\nORACLE_NAME: file\n"), Env: []string{"PORT=2", "HOST=env"}, Flags: map[string]string{"PORT": "3"}}
	s, all := load(t, in)
	if s.Server.Port != 3 || s.Server.Host != "env" || s.Oracle.Name != "file" || s.Server.LogLevel != "info" {
		t.Fatalf("got %+v", s.Server)
	}
	want := map[string]config.Source{
		"PORT": config.FromFlag, "HOST": config.FromEnvironment,
		"ORACLE_NAME": config.FromFile, "LOG_LEVEL": config.FromDefault,
	}
	for _, set := range all {
		if w, ok := want[set.Name]; ok && set.Source != w {
			t.Errorf("%s comes from %s, want %s", set.Name, set.Source, w)
		}
	}
}

func TestBadValuesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"PORT=lots", `PORT: given "lots" (from environment), allowed is a whole number from 0 to 65535`},
		{"PORT=70000", `PORT: given "70000" (from environment), allowed is a whole number from 0 to 65535`},
		{"LOG_LEVEL=loud", `LOG_LEVEL: given "loud" (from environment), allowed is debug or info or warn or error`},
		{"TRUST_PROXY_ENABLED=perhaps", `TRUST_PROXY_ENABLED: given "perhaps" (from environment), allowed is true or false`},
		{"USSD_SESSION_TTL=-3s", `USSD_SESSION_TTL: given "-3s" (from environment), allowed is a duration such as 90s, 15m, 24h or 90d, or off`},
		{"PIN_ENCRYPTION_KEY=secret", `PIN_ENCRYPTION_KEY: given a secret that does not fit (from environment), allowed is 64 hexadecimal digits`},
		{"FILES_MAX_UPLOAD=5 apples", `FILES_MAX_UPLOAD: given "5 apples" (from environment), allowed is a size such as 512KiB, 64MiB or 5GiB`},
		{"USSD_GATEWAY_CIDRS=10.0.0.0/99", `USSD_GATEWAY_CIDRS: given "10.0.0.0/99" (from environment), allowed is a comma list of ranges such as 10.0.0.0/8, 2001:db8::/32`},
		{"FEATURES=credits=maybe", `FEATURES: given "credits=maybe" (from environment), allowed is a comma list of plugin=true, plugin=false or plugin=auto`},
		{"NATS_URL=somewhere", `NATS_URL: given "somewhere" (from environment), allowed is an absolute URL`},
	} {
		var s config.Settings
		_, err := config.Load(&s, config.Input{Env: []string{c.line}})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.line, err, c.want)
		}
	}
}

func TestMisspeltNamesInTheFileAreRefused(t *testing.T) {
	t.Parallel()
	var s config.Settings
	_, err := config.Load(&s, config.Input{File: []byte("PROT: 1\n")})
	if err == nil || !strings.Contains(err.Error(), "did you mean PORT?") {
		t.Fatalf("got %v", err)
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("ab", 32)
	s, all := load(t, config.Input{Env: []string{"OPERATOR_TOKEN=hush-hush", "FILES_MASTER_KEY=" + key, "DATABASE_URL=postgres://u:hunter2@h/db"}})
	printed := fmt.Sprintf("%v %+v %#v", s.Server.OperatorToken, s.Server, s.Server.OperatorToken) + fmt.Sprint(s.Files) +
		fmt.Sprint(s.Storage.Database)
	for _, set := range all {
		if set.Secret {
			printed += set.Value
		}
	}
	for _, secret := range []string{"hush-hush", key, "hunter2"} {
		if strings.Contains(printed, secret) {
			t.Errorf("%q is shown in %s", secret, printed)
		}
	}
	if s.Server.OperatorToken.Reveal() != "hush-hush" || len(s.Files.MasterKey) != 32 {
		t.Fatal("secrets do not arrive")
	}
}

func TestExtraPartsBringTheirOwnSettings(t *testing.T) {
	t.Parallel()
	var s config.Settings
	var hello struct {
		Greeting string `env:"HELLO_GREETING" default:"hi"`
		Token    string `env:"HELLO_TOKEN" secret:"true"`
	}
	in := config.Input{File: []byte("HELLO_GREETING: hey\n"), Env: []string{"HELLO_TOKEN=hush"}}
	all, err := config.Load(&s, in, config.Part{Name: "hello", Into: &hello})
	if err != nil || hello.Greeting != "hey" || hello.Token != "hush" {
		t.Fatalf("got %+v, %v", hello, err)
	}
	if last := all[len(all)-1]; last.Part != "hello" || last.Name != "HELLO_TOKEN" || last.Value == "hush" {
		t.Errorf("listed as %+v", last)
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	s, _ := load(t, config.Input{Env: []string{"USSD_GATEWAY_CIDRS=10.1.0.0/16, 192.0.2.7"}})
	for addr, want := range map[string]bool{"10.1.2.3": true, "10.2.0.1": false, "192.0.2.7": true, "192.0.2.8": false, "::ffff:10.1.0.9": true} {
		if got := s.USSD.GatewayCIDRs.Contains(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
}

func TestURLPasswordsAreNotListed(t *testing.T) {
	t.Parallel()
	_, all := load(t, config.Input{Env: []string{"DATABASE_URL=postgres://u:hunter2@h/db"}})
	for _, set := range all {
		if strings.Contains(set.Value, "hunter2") {
			t.Errorf("%s shows a password", set.Name)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("PORT: 1\nCORS_ORIGIN: [a, b]\n"), "PORT=2")
	f.Add([]byte("PORT: {a: b}"), "FILES_MAX_UPLOAD=9999999999TiB")
	f.Fuzz(func(_ *testing.T, file []byte, line string) {
		var s config.Settings
		_, _ = config.Load(&s, config.Input{File: file, Env: []string{line}})
	})
}
