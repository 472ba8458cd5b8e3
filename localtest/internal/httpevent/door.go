// Package httpevent turns an HTTP request into the event of one of Lambda's four HTTP doors, and what the function
// answers into the answer to the client.
//
// A [Door] does what all of them have in common; what sets a kind apart is its style, one file a kind. A request goes
// through [Door.Read], [Door.Event], the function, and [Door.Answer]; each step may end it with an answer of the door's
// own.
//
// The events have the types of aws-lambda-go: members that a real event has as null are absent from them, or empty.
// Where a door does more than its documentation says, or something else, what is known of the real one decides; the
// comment at the place says so.
package httpevent

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Kind is a kind of door.
type Kind int

// The doors.
const (
	RESTAPI Kind = iota + 1
	HTTPAPI
	FunctionURL
	ALB
)

func (k Kind) String() string {
	if k < RESTAPI || k > ALB {
		return fmt.Sprintf("DoorKind(%d)", int(k))
	}
	return [...]string{RESTAPI: "RESTAPI", HTTPAPI: "HTTPAPI", FunctionURL: "FunctionURL", ALB: "ALB"}[k]
}

// Config is what a user sets, under the names of the user's own settings.
type Config struct {
	Kind               Kind
	Routes             []string
	Stage              string
	BinaryMediaTypes   []string
	MultiValueHeaders  bool
	IntegrationTimeout time.Duration
	Authorize          bool // there is an authorizer
}

// Limits, in bytes.
const (
	maxEvent = 6 << 20 // what Lambda takes from any door

	gatewayMaxBody = 10 << 20
	albMaxBody     = 1 << 20
	albMaxResponse = 1 << 20
)

// What the events name as theirs.
const (
	account = "000000000000"
	region  = "us-east-1"
	apiID   = "local"
)

// Door is a front door. It is safe for concurrent use.
type Door struct {
	cfg    Config
	routes []route // the most specific one first
	style
}

// style is what sets a kind of door apart.
type style struct {
	maxBody     int      // of a request, in bytes
	https       bool     // the outside, which is what the event tells of, is always encrypted
	requestID   string   // the answer's header that names the request
	contentType string   // of a function's answer that has none
	identity    []string // the members of Identity that the event has a place for
	textContext bool     // numbers and booleans of Identity.Context are texts in the event
	decodesPath bool     // before it looks for the route

	event  func(*Door, *Request, Identity) any
	answer func(*Door, *Request, []byte) Answer

	// What the door answers itself.
	tooLarge     Answer // the body
	eventTooLong Answer // the body is not too large, but the event is
	noStage      Answer // the path does not begin with the stage
	noRoute      Answer
	unauthorized Answer // the authorizer does not know who it is
	forbidden    Answer // or does not let them in
	failed       Answer // the function did
	timedOut     Answer // the integration did: the function goes on
}

func styleOf(k Kind) (style, error) {
	switch k {
	case RESTAPI:
		return restAPI(), nil
	case HTTPAPI:
		return httpAPI(), nil
	case FunctionURL:
		return functionURL(), nil
	case ALB:
		return alb(), nil
	}
	return style{}, fmt.Errorf("front door: Kind is %v, must be one of RESTAPI, HTTPAPI, FunctionURL, ALB", k)
}

// New checks the settings and fills in the defaults.
func New(cfg Config) (*Door, error) {
	s, err := styleOf(cfg.Kind)
	if err != nil {
		return nil, err
	}
	d := &Door{cfg: cfg, style: s}
	d.cfg.BinaryMediaTypes = slices.Clone(cfg.BinaryMediaTypes)
	if err := d.checkKind(); err != nil {
		return nil, err
	}
	if d.gateway() {
		if d.routes, err = parseRoutes(cfg.Kind, cfg.Routes); err != nil {
			return nil, err
		}
		d.cfg.Stage = cmp.Or(cfg.Stage, map[Kind]string{RESTAPI: "prod", HTTPAPI: defaultRoute}[cfg.Kind])
	}
	return d, d.checkValues()
}

// gateway: the door is an API Gateway, with stages, routes and a time-out of its own.
func (d *Door) gateway() bool { return d.cfg.Kind == RESTAPI || d.cfg.Kind == HTTPAPI }

// checkKind refuses what has no meaning at this kind of door.
func (d *Door) checkKind() error {
	for _, setting := range []struct {
		name  string
		set   bool
		kinds []Kind
	}{
		{"Routes", len(d.cfg.Routes) > 0, []Kind{RESTAPI, HTTPAPI}},
		{"Stage", d.cfg.Stage != "", []Kind{RESTAPI, HTTPAPI}},
		{"IntegrationTimeout", d.cfg.IntegrationTimeout != 0, []Kind{RESTAPI, HTTPAPI}},
		{"BinaryMediaTypes", len(d.cfg.BinaryMediaTypes) > 0, []Kind{RESTAPI}},
		{"MultiValueHeaders", d.cfg.MultiValueHeaders, []Kind{ALB}},
		{"Authorize", d.cfg.Authorize, []Kind{RESTAPI, HTTPAPI, FunctionURL}},
	} {
		if setting.set && !slices.Contains(setting.kinds, d.cfg.Kind) {
			return fmt.Errorf("front door: %s is set, must be left out for %v: it is a setting of %v", setting.name, d.cfg.Kind, setting.kinds)
		}
	}
	return nil
}

// checkValues expects the defaults to be filled in.
func (d *Door) checkValues() error {
	if !d.gateway() {
		return nil
	}
	if err := checkStage(d.cfg.Kind, d.cfg.Stage); err != nil {
		return err
	}
	for _, t := range d.cfg.BinaryMediaTypes {
		if !isMediaType(t) {
			return fmt.Errorf("front door: BinaryMediaTypes has %q, must be type/subtype, type/* or */*", t)
		}
	}
	longest := map[Kind]time.Duration{RESTAPI: 15 * time.Minute, HTTPAPI: 30 * time.Second}[d.cfg.Kind]
	if t := d.Timeout(); t < 50*time.Millisecond || t > longest {
		return fmt.Errorf("front door: IntegrationTimeout is %v, must be between 50ms and %v for %v", t, longest, d.cfg.Kind)
	}
	return nil
}

// Timeout is how long the door waits for the function; 0: as long as it takes.
func (d *Door) Timeout() time.Duration {
	return cmp.Or(d.cfg.IntegrationTimeout, map[Kind]time.Duration{RESTAPI: 29 * time.Second, HTTPAPI: 30 * time.Second}[d.cfg.Kind])
}

// Prefix is what every path begins with: "", or a slash and the stage, as on the API's own domain.
func (d *Door) Prefix() string {
	if !d.gateway() || d.cfg.Stage == defaultRoute {
		return ""
	}
	return "/" + d.cfg.Stage
}

// Unauthorized is the answer to a caller whom the authorizer does not know.
func (d *Door) Unauthorized() Answer { return d.unauthorized }

// Forbidden is the answer to a caller whom the authorizer does not let in.
func (d *Door) Forbidden() Answer { return d.forbidden }

// Failed is the answer for a function that ended in an error. Its own time-out is one, too.
func (d *Door) Failed() Answer { return d.failed }

// TimedOut is the answer when [Door.Timeout] has passed; the function goes on.
func (d *Door) TimedOut() Answer { return d.timedOut }

// Answer is the answer to the client, for a function that ended without an error and returned payload.
func (d *Door) Answer(r *Request, payload []byte) Answer { return d.answer(d, r, payload) }
