package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/localtest"
)

// console is the page of serve, and what it asks for, before the front door: it plays a client in trouble, and shows what
// that leaves in the tables and at the card processor.
type console struct {
	w    *world
	door http.Handler // has every path that is not the console's
	own  http.Handler

	served  atomic.Int64 // requests of the front door's clients
	acting  sync.Mutex   // held by the action that runs
	reading sync.Mutex   // guards earlier
	earlier []localtest.Call

	mu        sync.Mutex // guards what follows; taken within the database's lock, so it must not be held when that is called
	keys      int        // that the client has made; the last one is its present one
	used      bool       // the present one was sent
	exchanges []exchange
	charges   []cardprocessor.Charge
	records   recent // ids
	trouble   string // see next
}

// newConsole must be called before the world's first charge.
func newConsole(w *world) *console {
	c := &console{w: w, door: w.fn.Handler(w.door.FrontDoor), keys: 1}
	w.cards.Charged = c.onCharged
	w.db.Inject(localtest.Fault{Kind: localtest.ReplyLost, Times: -1, Match: c.watch})
	own := http.NewServeMux()
	own.HandleFunc("GET /{$}", c.page)
	own.HandleFunc("GET /console/state", c.showState)
	own.HandleFunc("POST /console/{action}", c.act)
	c.own = guarded(own)
	return c
}

// ServeHTTP leaves to the front door whatever is not the console's.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if r.URL.Path == "/" && reads || strings.HasPrefix(r.URL.Path, "/console/") {
		c.own.ServeHTTP(w, r)
		return
	}
	c.door.ServeHTTP(w, r)
	if c.served.Add(1)%100 == 0 {
		c.calls() // which bounds the list while nobody looks
	}
}

// guarded keeps other pages of the browser out: those of another origin, and those whose name has been made to lead to this
// machine (DNS rebinding), which comes by a name and never by an address.
func guarded(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusForbidden, problem{"another origin's page may not do this"})
	}))
	next = origin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil { // no port
			host = strings.Trim(r.Host, "[]")
		}
		if host != "localhost" && net.ParseIP(host) == nil {
			reply(w, http.StatusForbidden, problem{"come by the address or as localhost, not by another name"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

//go:embed console.html
var consolePage string

// page lets the browser run what is in the page, and speak to nobody else.
func (c *console) page(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "+
		"frame-ancestors 'none'; script-src "+hashOf("script")+"; style-src "+hashOf("style"))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(consolePage)) // the browser may be gone
}

// hashOf names the page's one element of that kind, as the policy wants it.
func hashOf(element string) string {
	_, rest, _ := strings.Cut(consolePage, "<"+element+">")
	text, _, _ := strings.Cut(rest, "</"+element+">")
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// problem says why there is no answer.
type problem struct {
	Error string `json:"error"`
}

func reply(w http.ResponseWriter, status int, body any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the browser may be gone
}
