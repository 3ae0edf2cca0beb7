package config_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/platform/config"
)

func TestMaskShowsWhatHelpsAndNoCredential(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                                      "",
		"Team #1? Yes":                                          "Team #1? Yes",
		"https://slack.com/api":                                 "https://slack.com/api",
		"postgres://u:hunter2@h/db":                             "postgres://********@h/db",
		"https://ghp_abc@github.com/x":                          "https://********@github.com/x",
		"https://u:p/w?x#@h/y":                                  "https://********@h/y",
		"user:hush@node:9090":                                   "********@node:9090",
		"node:9090?tls=1&token=hush":                            "node:9090?tls=1&token=********",
		"turn:host:3478?transport=udp":                          "turn:host:3478?transport=udp",
		"https://h/p?X-Amz-Signature=hush":                      "https://h/p?X-Amz-Signature=********",
		"https://h/p?hush":                                      "https://h/p?********",
		"https://h/v1/T0/hush4Xb7Qp2Wz9Lk":                      "https://h/v1/T0/********",
		"https://h/p;key=hush/q":                                "https://h/p;key=********/q",
		"https://models.example/v1beta/x":                       "https://models.example/v1beta/x",
		"https://h/p#access_token=hush":                         "https://h/p#********",
		"host=db user=castalia password=hush dbname=castalia":   "host=db user=castalia password=******** dbname=castalia",
		"host=db password = 'hush hush' sslpassword='a' user=c": "host=db password = ******** sslpassword=******** user=c",
		`password='it\'s hush' host=db`:                         "password=******** host=db",
		"https://host/hooks/a1b2c3d4/in":                        "https://host/hooks/********/in",
		"https://host/v1/mcp":                                   "https://host/v1/mcp",
		"s3://b/files?endpoint=http://k:hush@s3:7070&region=eu&path_style=true": "s3://b/files?endpoint=http://********@s3:7070&region=eu&path_style=true",
		"s3://b?endpoint=http%3A%2F%2Fk%3Ahush%40s3":                            "s3://b?endpoint=http://********@s3",
		`{"maps":{"url":"https://u:hush@h","headers":{"X":"hush"},"n":1}}`:      `{"maps":{"headers":{"X":"********"},"n":1,"url":"https://********@h"}}`,
		`[{"token":["hush",7]}]`:                                                `[{"token":["********","********"]}]`,
	} {
		if got := config.Mask(text); got != want {
			t.Errorf("%s\nis shown as %s\nand not as  %s", text, got, want)
		}
	}
}

// sample are settings of every kind that may hold an address.
type sample struct {
	Text string     `env:"SAMPLE_TEXT"`
	URL  config.URL `env:"SAMPLE_URL"`
	List []string   `env:"SAMPLE_LIST"`
	Bad  int        `env:"SAMPLE_BAD" default:"0"`
}

// Wherever a credential stands in an address, alone, in a list or in JSON, it is
// shown neither as a value nor in the error about it.
func TestNoCredentialOfAnAddressIsEverShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9]{10,20}`).Draw(t, "secret")
		around := rapid.StringMatching(`[!$'()*+:;<>^_|~. -]{0,3}`)
		raw := around.Draw(t, "before") + secret + around.Draw(t, "after")
		scheme := rapid.SampledFrom([]string{"https", "postgres", "nats", "s3", "grpc+tls"}).Draw(t, "scheme")
		name := rapid.OneOf(
			rapid.SampledFrom([]string{"password", "token", "sig", "X-Amz-Signature", "api_key", "sslpassword"}), rapid.StringMatching(`[b-g_]{6,9}`),
		).Draw(t, "name")
		harmless := rapid.SampledFrom([]string{"", "region=eu&", "sslmode=require&", "endpoint=http%3A%2F%2Fs3&"}).Draw(t, "harmless")
		address := rapid.SampledFrom([]string{
			scheme + "://user:" + url.PathEscape(raw) + "@host/path",
			scheme + "://" + url.PathEscape(raw) + "@host",
			scheme + "://host/path?" + harmless + name + "=" + url.QueryEscape(raw),
			scheme + "://host?" + harmless + name + "=" + url.QueryEscape(raw) + "&region=eu#end",
			scheme + "://host/?" + harmless + "endpoint=" + url.QueryEscape("http://k:"+raw+"@inner"),
			scheme + "://host/?" + harmless + "endpoint=" + url.QueryEscape(url.QueryEscape("http://k:"+raw+"@inner")),
			scheme + "://host/hooks/0a" + secret + "abcdef/in",
			scheme + "://host/path;" + name + "=" + url.QueryEscape(raw) + "/in",
			scheme + "://host#" + name + "=" + url.QueryEscape(raw),
		}).Draw(t, "address")
		quoted, err := json.Marshal(map[string]any{"servers": []any{
			address, map[string]string{"url": address, name + "token": raw},
		}})
		if err != nil {
			t.Fatal(err)
		}
		other := "https://other.example/x?region=eu"
		list := strings.Join(rapid.Permutation([]string{"maps=" + address, other, "node:9090?tls=1"}).Draw(t, "list"), ",")
		for setting, text := range map[string]string{
			"SAMPLE_URL": address, "SAMPLE_TEXT": address, "SAMPLE_LIST": list, "SAMPLE_BAD": address, "SAMPLE_TEXT ": string(quoted), "SAMPLE_LIST ": string(quoted),
		} {
			var s config.Settings
			all, err := config.Load(&s, config.Input{Env: []string{strings.TrimSpace(setting) + "=" + text}},
				config.Part{Name: "sample", Into: &sample{}})
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Fatalf("%s: the error shows it: %v", text, err)
			}
			for _, set := range all {
				if strings.Contains(set.Value, secret) {
					t.Fatalf("%s\nis shown as %s", text, set.Value)
				}
				if set.Name == setting && setting == "SAMPLE_LIST" && !strings.Contains(set.Value, other) {
					t.Fatalf("%s\nis shown as %s", text, set.Value)
				}
			}
		}
	})
}

func FuzzMask(f *testing.F) {
	f.Add("", "")
	f.Add("a=https://x?endpoint=", "@b,c://d")
	f.Add(`{"a":"`, `"}`)
	f.Add("nats://a@b ", "#?&")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "Wisteria4711"
		if strings.Contains(before+"|"+after, secret) {
			return
		}
		for _, text := range []string{
			before + "https://user:" + secret + "@host" + after, before + "https://" + secret + "@host" + after,
			before + "https://host?a=b&password=" + secret + "&" + after,
		} {
			if shown := config.Mask(text); strings.Contains(shown, secret) {
				t.Errorf("%q is shown as %q", text, shown)
			}
		}
	})
}
