package ussd_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd"
)

func TestDefaultMenuPassesItsCheck(t *testing.T) {
	t.Parallel()
	m, err := ussd.DefaultMenu()
	if err != nil {
		t.Fatal(err)
	}
	got, end := m.Render(m.Begin(""), 0)
	want := "Welcome to Castalia\n1. Know More\n2. Account Menu\n*. Exit"
	if got != want || end {
		t.Errorf("welcome = %q, end %v", got, end)
	}
	info := m.Step(m.Begin("en"), "1", 0)
	got, _ = m.Render(info.State, 0)
	want = "What would you like to know?\n1. About this service\n2. Pricing\n3. Delivery\n*. Exit"
	if got != want {
		t.Errorf("information = %q", got)
	}
}
