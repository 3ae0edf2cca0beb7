package system

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// usageRoutes asks something, and finds it counted on every node: for its user,
// for operators and in the metrics.
func usageRoutes(t *testing.T, w *World, _ *speaker) {
	alice, bob := newChatter(t, w, identitytest.NewActor("usage")), newChatter(t, w, identitytest.NewActor("other usage"))
	for n := range 3 {
		alice.say(t, w.Node(n), fmt.Sprintf("count %d of %s", n, alice.session)).rest(t)
	}
	type list struct {
		By    []string
		Usage []struct {
			Day, User, Model, Source string
			Calls                    int64
		}
		Total struct {
			Calls        int64
			FirstTokenMS *int64
		}
	}
	var own list
	Eventually(t, "three turns and a title are counted", func() error {
		own = list{}
		reply := alice.do(t, w.Node(1), http.MethodGet, "/usage?by=day,source,model", "")
		if reply.JSON(t, &own); own.Total.Calls < 4 {
			return fmt.Errorf("%s", reply.Body)
		}
		return nil
	})
	if len(own.Usage) != 1 || own.Usage[0].Source != "oracle" || own.Usage[0].Model != "speaker" ||
		own.Usage[0].User != "" || own.Total.FirstTokenMS == nil {
		t.Errorf("own usage: %+v", own)
	}
	var others list
	bob.do(t, w.Node(2), http.MethodGet, "/usage", "").JSON(t, &others)
	if others.Total.Calls != 0 {
		t.Errorf("another's usage: %+v", others)
	}
	refused(t, "by user", alice.do(t, w.Node(0), http.MethodGet, "/usage?by=user", ""), http.StatusBadRequest, "by must be")
	refused(t, "no day", alice.do(t, w.Node(0), http.MethodGet, "/usage?from=yesterday", ""), http.StatusBadRequest, "from must be a day")
	reply := w.Node(2).Get(t, "/operator/usage?by=user,model")
	if reply.Status != http.StatusOK || !strings.Contains(string(reply.Body), `"user":"did:key:`) {
		t.Errorf("operators: %d %s", reply.Status, reply.Body)
	}
	if metrics := w.Node(1).Get(t, "/metrics"); !strings.Contains(string(metrics.Body), `castalia_model_calls_total{model="speaker",result="ok",source="oracle"}`) {
		t.Error("no calls in the metrics")
	}
}
