package httpclient_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency/httpclient"
)

// An error names the field, its value and the rule.
func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]httpclient.Config{
		"httpclient: Config.Window is -1s: must be positive":                                   {Window: -time.Second},
		"httpclient: Config.Budget is -1s: must be positive":                                   {Budget: -time.Second},
		"httpclient: Config.Budget is 24h0m0s: must be shorter than Window, 24h0m0s, since":    {Budget: 24 * time.Hour},
		"httpclient: Config.Budget is 25h0m0s: must be shorter than Window, 24h0m0s, since":    {Budget: 25 * time.Hour},
		"httpclient: Config.Budget is 1h0m0s: must be shorter than Window, 1h0m0s, since a la": {Window: time.Hour, Budget: time.Hour},
	} {
		if _, err := httpclient.New(cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for name, cfg := range map[string]httpclient.Config{
		"a short window without a budget": {Window: time.Second},
		"a budget just below the window":  {Budget: 24*time.Hour - 1},
	} {
		if _, err := httpclient.New(cfg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the fields' comments say of defaults is what happens without them.
func TestConfig_Defaults(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if field, is := n.(*ast.Field); is && len(field.Names) == 1 {
			comments[field.Names[0].Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
		}
		return true
	})
	for field, want := range map[string]string{
		"Base": "Default: http.DefaultTransport,", "Window": "Default: 24 hours.",
		"Budget":  "Default: 1 minute, or half of Window where that is shorter.",
		"Methods": "Default: POST and PATCH.", "Unquoted": "Default: quoted.",
	} {
		if !strings.Contains(comments[field], want) {
			t.Errorf("the comment of %s is %q, want %q in it", field, comments[field], want)
		}
	}

	tries := func(cfg httpclient.Config, method, after string) (n int, key string) {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: []answer{plain(503, "Retry-After", after), ok}}
			req := charge(t.Context(), t, "http://x/")
			req.Method = method
			cfg.Base = s
			if _, err := transport(t, s, func(c *httpclient.Config) { *c = cfg }).RoundTrip(req); err != nil {
				t.Error(err)
			}
			n, key = len(s.keys), s.keys[0]
		})
		return n, key
	}
	for _, c := range []struct {
		cfg    httpclient.Config
		method string
		after  string
		want   int
	}{
		{httpclient.Config{}, http.MethodPost, "59", 2},
		{httpclient.Config{}, http.MethodPost, "60", 1}, // and some jitter
		{httpclient.Config{}, http.MethodPatch, "1", 2},
		{httpclient.Config{}, http.MethodPut, "1", 1},
		{httpclient.Config{Window: time.Minute}, http.MethodPost, "29", 2},
		{httpclient.Config{Window: time.Minute}, http.MethodPost, "30", 1},
		{httpclient.Config{Budget: 24*time.Hour - time.Minute}, http.MethodPost, "3600", 2},
	} {
		n, key := tries(c.cfg, c.method, c.after)
		if n != c.want {
			t.Errorf("%+v, %s, Retry-After %s: %d tries, want %d", c.cfg, c.method, c.after, n, c.want)
		}
		if key != "" && key[0] != '"' {
			t.Errorf("key %s, want it quoted", key)
		}
	}
}

// A method is meant in whatever case it is written; a list of none would leave every payment without a key.
func TestNew_Methods(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{ok}}
	if _, err := post(t.Context(), t, transport(t, s, func(c *httpclient.Config) { c.Methods = []string{"post"} })); err != nil || s.keys[0] == "" {
		t.Errorf("keys %q, %v", s.keys, err)
	}
	if _, err := httpclient.New(httpclient.Config{Methods: []string{}}); err == nil || !strings.Contains(err.Error(), "Config.Methods is empty") {
		t.Errorf("an empty list: %v", err)
	}
}

// The caller's list can be used for something else.
func TestNew_CopiesMethods(t *testing.T) {
	t.Parallel()
	methods := []string{http.MethodPut}
	s := &script{answers: []answer{ok}}
	tr := transport(t, s, func(c *httpclient.Config) { c.Methods = methods })
	methods[0] = http.MethodGet
	req := charge(t.Context(), t, "http://x/")
	req.Method = http.MethodPut
	if _, err := tr.RoundTrip(req); err != nil || s.keys[0] == "" {
		t.Errorf("keys %q, %v", s.keys, err)
	}
}
