package httpclient

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type answers503 struct{ tries int }

func (a *answers503) RoundTrip(*http.Request) (*http.Response, error) {
	a.tries++
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// A process that was frozen in a pause does not try again when the server has forgotten the key: that would be a second
// payment. Inside the package, since a pause that takes longer than it should cannot be had otherwise.
func TestRoundTrip_FrozenBeyondTheWindow(t *testing.T) {
	t.Parallel()
	for frozen, want := range map[time.Duration]int{23 * time.Hour: 2, 24 * time.Hour: 1, 100 * time.Hour: 1} {
		t.Run(frozen.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := &answers503{}
				tr, err := New(Config{Base: base})
				if err != nil {
					t.Fatal(err)
				}
				tr.pause = func(context.Context, time.Duration, *http.Response) error {
					time.Sleep(frozen) //nolint:forbidigo // virtual
					return nil
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://payments.example/", nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := tr.RoundTrip(req)
				if base.tries != want {
					t.Errorf("%d tries, want %d", base.tries, want)
				}
				if want == 1 && (err == nil || !strings.Contains(err.Error(), "must be less than Config.Window, 24h0m0s") || !strings.HasSuffix(err.Error(), "after try 1: answered 503 Service Unavailable")) {
					t.Errorf("got %v, %v", resp, err)
				}
			})
		})
	}
}
