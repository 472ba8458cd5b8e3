package httpevent

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// defaultRoute is the route, and the stage, of an HTTP API that catch everything.
const defaultRoute = "$default"

const anyMethod = "ANY"

var (
	stageName     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	parameterName = regexp.MustCompile(`^\{[A-Za-z0-9._-]+\+?\}$`)
	mediaType     = regexp.MustCompile(`^(\*/\*|[\w.+-]+/(\*|[\w.+-]+))$`)
)

func isMediaType(s string) bool { return mediaType.MatchString(s) }

func checkStage(k Kind, stage string) error {
	if !stageName.MatchString(stage) && (k != HTTPAPI || stage != defaultRoute) {
		return fmt.Errorf("front door: Stage is %q, must be 1 to 128 letters, digits, hyphens and underscores (or $default for HTTPAPI)", stage)
	}
	return nil
}

// route is one way to the function.
type route struct {
	key      string // as it was set
	method   string
	path     string // a template, as /payments/{id} or /{proxy+}; "" for $default
	segments []string
}

func parseRoutes(k Kind, keys []string) ([]route, error) {
	if len(keys) == 0 {
		keys = map[Kind][]string{RESTAPI: {"ANY /", "ANY /{proxy+}"}, HTTPAPI: {defaultRoute}}[k]
	}
	var routes []route
	for _, key := range keys {
		rt, err := parseRoute(k, key)
		if err != nil {
			return nil, err
		}
		for _, other := range routes {
			if other.key == key {
				return nil, fmt.Errorf("front door: Routes has %q twice, must name each route once", key)
			}
			if other.shape() == rt.shape() {
				return nil, fmt.Errorf("front door: Routes has %q and %q, must name each route once: they fit the same requests", other.key, key)
			}
		}
		routes = append(routes, rt)
	}
	slices.SortStableFunc(routes, moreSpecific)
	return routes, nil
}

func parseRoute(k Kind, key string) (route, error) {
	if key == defaultRoute && k == HTTPAPI {
		return route{key: key, method: anyMethod}, nil
	}
	wrong := func(rule string) (route, error) {
		return route{}, fmt.Errorf("front door: Routes has %q, must be a method (or ANY), a space and a path, as in %q: %s", key, "POST /payments/{id}", rule)
	}
	method, path, _ := strings.Cut(key, " ")
	methods := []string{
		anyMethod, http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions,
		http.MethodPatch, http.MethodPost, http.MethodPut,
	}
	if !slices.Contains(methods, method) {
		return wrong("no such method")
	}
	if path == "" {
		return wrong("the path is missing")
	}
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " ?#") {
		return wrong("the path must begin with a slash, and have no space, ? and #")
	}
	rt := route{key: key, method: method, path: path, segments: segments(path)}
	for i, s := range rt.segments {
		if strings.ContainsAny(s, "{}") && !parameterName.MatchString(s) {
			return wrong("a parameter must be a whole segment, as {id}")
		}
		if isGreedy(s) && i < len(rt.segments)-1 {
			return wrong("a greedy parameter must be the last segment")
		}
		if isParameter(s) && slices.ContainsFunc(rt.segments[:i], func(o string) bool { return parameter(o) == parameter(s) }) {
			return wrong("each parameter must have a name of its own")
		}
	}
	return rt, nil
}

func segments(path string) []string { return strings.Split(strings.TrimPrefix(path, "/"), "/") }

func isParameter(segment string) bool { return strings.HasPrefix(segment, "{") }

func isGreedy(segment string) bool { return strings.HasSuffix(segment, "+}") }

// parameter is the name in a parameter's segment; "" for another segment.
func parameter(segment string) string {
	if !isParameter(segment) {
		return ""
	}
	return strings.TrimSuffix(segment[1:len(segment)-1], "+")
}

// shape is the same for routes that fit the same requests.
func (rt route) shape() string {
	shape := []string{rt.method}
	for _, s := range rt.segments {
		switch {
		case isGreedy(s):
			s = "{+}"
		case isParameter(s):
			s = "{}"
		}
		shape = append(shape, s)
	}
	return strings.Join(shape, "/")
}

// moreSpecific orders routes: a literal segment before a parameter, that before a greedy one, $default last; of one
// path, a method before ANY.
func moreSpecific(a, b route) int {
	if a.path == "" || b.path == "" {
		return cmp.Compare(len(b.path), len(a.path))
	}
	rank := func(s string) int {
		switch {
		case isGreedy(s):
			return 2
		case isParameter(s):
			return 1
		}
		return 0
	}
	for i := range min(len(a.segments), len(b.segments)) {
		if c := cmp.Compare(rank(a.segments[i]), rank(b.segments[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(strings.Count(a.method, anyMethod), strings.Count(b.method, anyMethod))
}

// match returns the path parameters. path are the decoded segments.
func (rt route) match(path []string) (map[string]string, bool) {
	if rt.path == "" {
		return nil, true
	}
	params := map[string]string{}
	for i, s := range rt.segments {
		switch {
		case i >= len(path):
			return nil, false
		case isGreedy(s):
			rest := strings.Join(path[i:], "/")
			params[parameter(s)] = rest
			return params, rest != ""
		case isParameter(s):
			params[parameter(s)] = path[i]
			if path[i] == "" {
				return nil, false
			}
		case s != path[i]:
			return nil, false
		}
	}
	return params, len(path) == len(rt.segments)
}

func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// find is the route of a request. path is without the stage, and percent-encoded unless the door decodes it first.
func (d *Door) find(method, path string) (route, map[string]string, bool) {
	parts := segments(path)
	if !d.decodesPath {
		for i, p := range parts {
			parts[i] = unescape(p)
		}
	}
	resource := ""
	for _, rt := range d.routes {
		// A REST API looks for the resource first: that a less specific one has the method does not help.
		if d.cfg.Kind == RESTAPI && resource != "" && rt.path != resource {
			continue
		}
		params, ok := rt.match(parts)
		if !ok {
			continue
		}
		if rt.method == anyMethod || rt.method == method {
			if len(params) == 0 {
				params = nil
			}
			return rt, params, true
		}
		resource = rt.path
	}
	return route{}, nil, false
}
