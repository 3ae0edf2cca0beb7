package config

import (
	"testing"
	"time"
)

func TestAClockIsWrongInTestsOnly(t *testing.T) {
	t.Parallel()
	if _, err := (Server{ClockOffset: 60, Environment: "production"}).Clock(); err == nil {
		t.Error("a production node took a wrong clock")
	}
	now, err := Server{ClockOffset: -3600, Environment: "test"}.Clock()
	if err != nil {
		t.Fatal(err)
	}
	if ago := time.Since(now()); ago < time.Hour || ago > time.Hour+time.Minute {
		t.Errorf("the clock is wrong by %v, want an hour", ago)
	}
}

func TestPublicURLIsTheBeginningOfLinks(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"": true, "https://castalia.example": true, "http://10.0.0.1:3000/castalia/": true,
		"ftp://castalia.example": false, "https://": false, "https://user@castalia.example": false,
		"https://castalia.example?x=1": false, "https://castalia.example#x": false, "castalia.example:3000": false,
	} {
		var s Server
		if err := s.PublicURL.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckPublicURL(); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
