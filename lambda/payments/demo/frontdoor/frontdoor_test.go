package frontdoor

import (
	"net/http"
	"strings"
	"testing"
)

func TestNamed_KnowsItsNamesAlone(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		if _, err := Named(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Named("window"); err == nil || !strings.Contains(err.Error(), `"window": must be one of http-api, rest-api, function-url, alb`) {
		t.Errorf("window: %v, want an error that lists the names", err)
	}
}

func TestNamed_NobodyIsLetInWithoutAName(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		d, err := Named(name)
		if err != nil || d.Authorize == nil {
			continue // an ALB has none
		}
		for token, want := range map[string]bool{"Bearer alice": true, "Bearer ": false, "Basic alice": false, "": false} {
			_, err := d.Authorize(&http.Request{Header: http.Header{"Authorization": {token}}})
			if got := err == nil; got != want {
				t.Errorf("%s: %q is let in: %t, want %t", name, token, got, want)
			}
		}
	}
}
