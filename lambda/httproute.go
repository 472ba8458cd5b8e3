package lambda

import "strings"

// operation names what method and route stand for, as "POST /payments"; "" for a route that stands for several
// operations. A route that leaves the method open gets the request's.
func operation(method, route string) string {
	own, path, found := strings.Cut(route, " ")
	if !found {
		own, path = "ANY", route // a pattern of net/http may be a path alone
	}
	if own == "ANY" {
		own = strings.ToUpper(method)
	}
	if catchAll(strings.TrimLeft(path, " \t")) {
		return ""
	}
	return own + " " + strings.TrimLeft(path, " \t")
}

// catchAll: the path of a route matches whatever stands behind it. API Gateway writes "$default" and "{proxy+}", net/http
// "{rest...}".
func catchAll(path string) bool {
	return path == "" || strings.Contains(path, "$default") || strings.Contains(path, "+}") || strings.Contains(path, "...}")
}

// routeOf is a pattern of net/http's ServeMux, whose slash at the end stands for whatever follows.
func routeOf(pattern string) string {
	if strings.HasSuffix(pattern, "/") {
		return pattern + "{...}"
	}
	return pattern
}
