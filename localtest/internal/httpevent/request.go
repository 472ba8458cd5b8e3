package httpevent

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Request is an HTTP request that the door lets in.
type Request struct {
	http   *http.Request
	id     string
	now    time.Time
	body   []byte
	https  bool
	path   string // without the stage; as sent, but where the door decodes it
	route  route
	params map[string]string
}

// Read takes the request in, body and all, unless the door refuses it. id is the request's own, a UUID.
func (d *Door) Read(r *http.Request, id string, now time.Time) (*Request, *Answer) {
	in := &Request{http: r, id: id, now: now, https: d.https, path: escapedPath(r)}
	if d.decodesPath {
		in.path = decodedPath(r)
	}
	if d.gateway() {
		var ok bool
		if in.path, ok = cutStage(in.path, d.Prefix()); !ok {
			return nil, &d.noStage
		}
		if in.route, in.params, ok = d.find(r.Method, in.path); !ok {
			return nil, &d.noRoute
		}
	}
	if r.Body == nil {
		return in, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(d.maxBody)+1))
	if err != nil {
		return nil, &Answer{Status: http.StatusBadRequest} // the client broke off: nobody reads it
	}
	if len(body) > d.maxBody {
		// A client that is still sending would see the connection break instead of the answer.
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 64<<20))
		return nil, &d.tooLarge
	}
	in.body = body
	return in, nil
}

func escapedPath(r *http.Request) string { return cmp.Or(r.URL.EscapedPath(), "/") }

// decodedPath is the path as an HTTP API sees it, which decodes first: what was an escaped slash divides segments, and
// what was an escaped question mark ends the path. Not documented; reports of users agree on it.
func decodedPath(r *http.Request) string {
	path, _, _ := strings.Cut(unescape(escapedPath(r)), "?")
	return path
}

func cutStage(path, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok || rest != "" && !strings.HasPrefix(rest, "/") && prefix != "" {
		return "", false
	}
	return cmp.Or(rest, "/"), true
}

// Event is the payload of the invocation. The error says that id does not fit the door.
func (d *Door) Event(r *Request, id Identity) ([]byte, *Answer, error) {
	if err := id.check(d.cfg.Kind, d.identity); err != nil {
		return nil, nil, err
	}
	if d.textContext {
		var err error
		if id.Context, err = id.texts(); err != nil {
			return nil, nil, err
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d.event(d, r, id)); err != nil {
		return nil, nil, fmt.Errorf("identity: Context must be encodable as JSON: %w", err)
	}
	payload := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if len(payload) > maxEvent {
		return nil, &d.eventTooLong, nil
	}
	return payload, nil, nil
}

// headers are those of the event, under the names that the client gave them: what came in, less what is between two
// hops only, and what a door adds.
func (r *Request) headers() http.Header {
	h := r.http.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	deleteHopByHop(h)
	proto, port := "http", "80"
	if _, p, err := net.SplitHostPort(r.http.Host); err == nil {
		port = p
	}
	if r.https {
		proto, port = "https", "443"
	}
	h.Set("Host", r.http.Host)
	h.Set("X-Forwarded-For", strings.Join(append(h.Values("X-Forwarded-For"), r.sourceIP()), ", "))
	h.Set("X-Forwarded-Proto", proto)
	h.Set("X-Forwarded-Port", port)
	if h.Get("X-Amzn-Trace-Id") == "" {
		h.Set("X-Amzn-Trace-Id", r.trace())
	}
	return h
}

func deleteHopByHop(h http.Header) {
	named := strings.Split(strings.Join(h.Values("Connection"), ","), ",")
	for _, name := range append(named, "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade") {
		h.Del(strings.TrimSpace(name))
	}
}

// lower are the headers with names in lower case; the values of names that differ in case only are put together.
func lower(h http.Header) map[string][]string {
	out := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		key := strings.ToLower(name)
		out[key] = append(out[key], h[name]...)
	}
	return out
}

func last(values map[string][]string) map[string]string {
	return single(values, func(v []string) string { return v[len(v)-1] })
}

func joined(values map[string][]string) map[string]string {
	return single(values, func(v []string) string { return strings.Join(v, ",") })
}

func single(values map[string][]string, pick func([]string) string) map[string]string {
	var out map[string]string // nil for none
	for name, v := range values {
		if len(v) > 0 {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = pick(v)
		}
	}
	return out
}

// query are the parameters, decoded or as they were sent. Not url.ParseQuery, which drops what it cannot decode.
func (r *Request) query(decode bool) map[string][]string {
	var out map[string][]string
	for pair := range strings.SplitSeq(r.http.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		if decode {
			name, value = unescapeQuery(name), unescapeQuery(value)
		}
		if out == nil {
			out = map[string][]string{}
		}
		out[name] = append(out[name], value)
	}
	return out
}

func unescapeQuery(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// text is the body as a member of the event. What is no UTF-8 is replaced there if it counts as text.
func (r *Request) text(binary bool) (body string, isBase64 bool) {
	if binary && len(r.body) > 0 {
		return base64.StdEncoding.EncodeToString(r.body), true
	}
	return string(r.body), false
}

// isText: these types, and no others (not even a form), arrive as they are at an HTTP API, a function URL and an ALB.
func isText(contentType string) bool {
	t := baseType(contentType)
	return strings.HasPrefix(t, "text/") ||
		slices.Contains([]string{"application/json", "application/javascript", "application/xml"}, t)
}

// baseType is the media type without parameters, in lower case; "" for none.
func baseType(contentType string) string {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		t, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

func (r *Request) sourceIP() string {
	if host, _, err := net.SplitHostPort(r.http.RemoteAddr); err == nil {
		return host
	}
	return r.http.RemoteAddr
}

// domain is the host that the client asked for, and its first label.
func (r *Request) domain() (name, prefix string) {
	name = r.http.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	prefix, _, _ = strings.Cut(name, ".")
	return name, prefix
}

func (r *Request) time() string { return r.now.UTC().Format("02/Jan/2006:15:04:05 +0000") }

func (r *Request) trace() string {
	hex := strings.ReplaceAll(r.id, "-", "")
	return fmt.Sprintf("Root=1-%08x-%s", r.now.Unix(), hex[:min(24, len(hex))])
}
