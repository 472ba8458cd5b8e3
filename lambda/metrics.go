package lambda

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/oncekey/oncekey/idempotency"
)

// MetricsConfig says where [Metrics] puts what it counts. The zero value is right for a function.
type MetricsConfig struct {
	// Namespace of the metrics in CloudWatch. Default "oncekey".
	Namespace string

	// Service is the value of the dimension Service: what belongs together in a dashboard. Default: the function's name.
	Service string

	// Writer gets a line of JSON for each invocation and operation (more than one for over 100 values), each in one Write.
	// Default os.Stdout, which Lambda sends to the function's log, where CloudWatch finds it.
	Writer io.Writer

	// Now is the clock of the metrics' timestamps. Default time.Now.
	Now func() time.Time
}

// Metrics returns an observer for idempotency.Config.Observe that makes CloudWatch metrics, in the embedded metric format: no
// call and no permission is needed.
//
// Each kind of an idempotency.Event is counted under its name: Acquired, Expired, TakenOver, Replayed, Cached, Waited,
// InProgress, Mismatch, Completed, Failed, Released, Unknown, LeaseLost, NotRecorded, NoTime, StoreFailure. AcquireLatency and ReplayLatency
// are what a first request waited for the table, and a retry for its answer; HandlerLatency is what the handler took until its
// outcome was recorded: in milliseconds. ReadUnits and WriteUnits are those of idempotency.Event. NoBody counts
// the answers that could not be stored, and the retries that got none for it. What has not happened is not sent.
//
// Dimensions are Service, and Service with Operation; never a key, nor anything else that a caller chooses. CloudWatch bills each
// name with each set of dimensions, and takes printable ASCII only: another Operation is left out, and counted under Service.
//
// A wrapper of this package collects what happens in an invocation and writes it at its end, also if several run at once in
// one process. Of an invocation that is killed or times out nothing is written. Without a wrapper each event is a line of its
// own. With Lambda's log format JSON a line counts as level INFO: an ApplicationLogLevel above that drops all metrics.
//
// Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html.
func Metrics(c MetricsConfig) func(context.Context, idempotency.Event) {
	m := &metrics{MetricsConfig: c}
	m.Namespace = cmp.Or(c.Namespace, "oncekey")
	m.Service = cmp.Or(c.Service, lambdacontext.FunctionName, "oncekey")
	if c.Writer == nil {
		m.Writer = os.Stdout
	}
	if c.Now == nil {
		m.Now = time.Now
	}
	return m.observe
}

type metrics struct {
	MetricsConfig
	mu sync.Mutex // of Writer
}

func (m *metrics) observe(ctx context.Context, e idempotency.Event) {
	if inv, ok := ctx.Value(invocationKey{}).(*invocation); ok && inv.add(m, e) {
		return
	}
	s := newSeries()
	s.add(e)
	m.write(e.Operation, s)
}

// series is what was measured of an operation, by the metric's name.
type series struct {
	counts    map[string]float64
	latencies map[string][]float64 // one value an event, in milliseconds
}

func newSeries() *series { return &series{map[string]float64{}, map[string][]float64{}} }

func (s *series) add(e idempotency.Event) {
	s.counts[metricOf(e.Kind)]++
	switch e.Kind {
	case idempotency.KindCompleted, idempotency.KindFailed, idempotency.KindReplayed, idempotency.KindCached:
		if e.Err != nil {
			s.counts["NoBody"]++
		}
	default:
	}
	s.counts["ReadUnits"] += e.ReadUnits
	s.counts["WriteUnits"] += e.WriteUnits
	latency := map[idempotency.Kind]string{
		idempotency.KindAcquired: "AcquireLatency", idempotency.KindExpired: "AcquireLatency", idempotency.KindTakenOver: "AcquireLatency",
		idempotency.KindCompleted: "HandlerLatency", idempotency.KindFailed: "HandlerLatency",
		idempotency.KindReplayed: "ReplayLatency", idempotency.KindCached: "ReplayLatency",
	}[e.Kind]
	if latency != "" {
		s.latencies[latency] = append(s.latencies[latency], float64(max(e.Duration, 0).Microseconds())/1000)
	}
}

// metricOf is the name of a kind's metric: "lease_lost" is LeaseLost.
func metricOf(k idempotency.Kind) string {
	var name strings.Builder
	for word := range strings.SplitSeq(string(k), "_") {
		if word != "" {
			name.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return name.String()
}

// mostValues is how many values of a metric CloudWatch takes out of a line.
const mostValues = 100

// write writes a series, in several lines if it has to.
func (m *metrics) write(operation string, s *series) {
	values := map[string]any{}
	for name, n := range s.counts {
		if n != 0 {
			values[name] = n
		}
	}
	for more := true; more; values = map[string]any{} {
		more = false
		for name, all := range s.latencies {
			if len(all) == 0 {
				continue
			}
			values[name] = all[:min(len(all), mostValues)]
			s.latencies[name] = all[min(len(all), mostValues):]
			more = more || len(all) > mostValues
		}
		m.writeLine(operation, values)
	}
}

func (m *metrics) writeLine(operation string, values map[string]any) {
	type definition struct{ Name, Unit string }
	var defined []definition
	for _, name := range slices.Sorted(maps.Keys(values)) {
		unit := "Count"
		if strings.HasSuffix(name, "Latency") {
			unit = "Milliseconds"
		}
		defined = append(defined, definition{name, unit})
	}
	values["Service"] = m.Service
	dimensions := [][]string{{"Service"}}
	if isDimension(operation) {
		values["Operation"] = operation
		dimensions = append(dimensions, []string{"Service", "Operation"})
	}
	values["_aws"] = map[string]any{
		"Timestamp": m.Now().UnixMilli(),
		"CloudWatchMetrics": []map[string]any{{
			"Namespace": m.Namespace, "Dimensions": dimensions, "Metrics": defined,
		}},
	}
	line, err := json.Marshal(values)
	if err != nil {
		return // it has strings and numbers only
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.Writer.Write(append(line, '\n')) // an observer has nobody to tell
}

// isDimension says whether CloudWatch takes a dimension of that value.
func isDimension(value string) bool {
	notASCII := func(c rune) bool { return c < ' ' || c > '~' }
	return strings.TrimSpace(value) != "" && len(value) <= 1024 && value[0] != ':' && !strings.ContainsFunc(value, notASCII)
}

// invocation collects the metrics of one invocation.
type invocation struct {
	mu    sync.Mutex
	ended bool
	of    map[*metrics]map[string]*series // by operation
}

type invocationKey struct{}

// metered is the context of an invocation whose metrics are written by flush, at its end. Of a wrapper within another one the
// outer one writes.
func metered(ctx context.Context) (in context.Context, flush func()) {
	if _, ok := ctx.Value(invocationKey{}).(*invocation); ok {
		return ctx, func() {}
	}
	inv := &invocation{of: map[*metrics]map[string]*series{}}
	return context.WithValue(ctx, invocationKey{}, inv), inv.flush
}

// add returns false when the invocation has ended: what comes after it is written at once.
func (inv *invocation) add(m *metrics, e idempotency.Event) bool {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.ended {
		return false
	}
	operations := inv.of[m]
	if operations == nil {
		operations = map[string]*series{}
		inv.of[m] = operations
	}
	if operations[e.Operation] == nil {
		operations[e.Operation] = newSeries()
	}
	operations[e.Operation].add(e)
	return true
}

func (inv *invocation) flush() {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	inv.ended = true
	for m, operations := range inv.of {
		for _, operation := range slices.Sorted(maps.Keys(operations)) {
			m.write(operation, operations[operation])
		}
	}
}
