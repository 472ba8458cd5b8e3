package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/localtest"
)

const hour, daily = 3600, 86400

// queues are SQS's answers, by the last part of a queue's URL: its retention, its visibility timeout and its dead-letter queue.
type queues map[string]attributes

type attributes struct {
	retention, visibility int
	dead                  string
}

func (q queues) standIn() standIn {
	const url = "https://sqs.us-east-1.amazonaws.com/123456789012/"
	return standIn{
		"DescribeContinuousBackups": answers(recoveryOn),
		"GetQueueUrl": func(body string) (int, string) {
			var in struct {
				QueueName string
				Owner     string `json:"QueueOwnerAWSAccountId"`
			}
			if err := json.Unmarshal([]byte(body), &in); err != nil || in.Owner != "123456789012" {
				return fails("InvalidParameterValue")("")
			}
			return http.StatusOK, fmt.Sprintf(`{"QueueUrl":%q}`, url+in.QueueName)
		},
		"GetQueueAttributes": func(body string) (int, string) {
			var in struct{ QueueURL string } // whose case does not matter
			if err := json.Unmarshal([]byte(body), &in); err != nil {
				return fails("InvalidParameterValue")("")
			}
			a, ok := q[strings.TrimPrefix(in.QueueURL, url)]
			if !ok {
				return fails("QueueDoesNotExist")("")
			}
			out := map[string]string{"MessageRetentionPeriod": fmt.Sprint(a.retention), "VisibilityTimeout": fmt.Sprint(a.visibility)}
			if a.dead != "" {
				out["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:123456789012:%s","maxReceiveCount":"5"}`, a.dead)
			}
			text, _ := json.Marshal(map[string]any{"Attributes": out})
			return http.StatusOK, string(text)
		},
	}
}

func TestCheck_Queue(t *testing.T) {
	t.Parallel()
	const orders = "https://sqs.us-east-1.amazonaws.com/123456789012/orders"
	for name, tc := range map[string]struct {
		queues queues
		flags  string
		want   []string // levels, rules and a part of what was found
	}{
		"all within the window": {
			queues{"orders": {4 * daily, 300, "dead"}, "dead": {14 * daily, 30, ""}},
			"-retention 432h",
			[]string{
				"ok queue's retention: 4d, and an outcome is kept for 18d", "ok queue's visibility timeout: 5m", "ok dead-letter queue: dead after 5 deliveries, kept for 14d",
				"ok redrive: a message can come again for 18d, and an outcome is kept for 18d", "ok redrive: a message can come again for 18d, and an unknown outcome is kept for 18d",
			},
		},
		"defaults": {
			queues{"orders": {4 * daily, 30, "dead"}, "dead": {4 * daily, 30, ""}},
			"",
			[]string{
				"warning queue's retention: 4d, and an outcome is kept for 1d", "ok queue's visibility timeout: 30s", "warning dead-letter queue: dead after 5 deliveries, kept for 4d from when it was sent",
				"warning redrive: a message can come again for 8d, and an outcome is kept for 1d", "warning redrive: a message can come again for 8d, and an unknown outcome is kept for 1d",
			},
		},
		"unknowns are kept": {
			queues{"orders": {daily, 30, "dead"}, "dead": {4 * daily, 30, ""}},
			"-unknown-retention 120h",
			[]string{
				"ok queue's retention: 1d", "ok queue's visibility timeout", "ok dead-letter queue",
				"warning redrive: a message can come again for 5d, and an outcome is kept for 1d", "ok redrive: a message can come again for 5d, and an unknown outcome is kept for 5d",
			},
		},
		"hidden for the window": {
			queues{"orders": {hour, hour, "dead"}, "dead": {2 * hour, 30, ""}},
			"-retention 1h",
			[]string{
				"ok queue's retention: 1h", "warning queue's visibility timeout: 1h, and an outcome is kept for 1h", "ok dead-letter queue",
				"warning redrive: a message can come again for 3h, and an outcome is kept for 1h", "ok redrive: a message can come again for 3h, and an unknown outcome is kept for 1d",
			},
		},
		"nobody's dead letters": {
			queues{"orders": {hour, 30, ""}},
			"",
			[]string{"ok queue's retention", "ok queue's visibility timeout", "warning dead-letter queue: there is none: a message whose outcome is unknown comes again for 1h"},
		},
		"FIFO, whose age begins anew": {
			queues{"orders": {8 * hour, 30, "dead.fifo"}, "dead.fifo": {8 * hour, 30, ""}},
			"",
			[]string{
				"ok queue's retention", "ok queue's visibility timeout", "ok dead-letter queue: dead.fifo",
				"ok redrive: a message can come again for 1d, and an outcome is kept for 1d", "ok redrive: a message can come again for 1d, and an unknown",
			},
		},
		"no queue":             {queues{}, "", []string{"not checked queue: there is no queue " + orders + " in us-east-1"}},
		"dead letters unasked": {queues{"orders": {hour, 30, "dead"}}, "", []string{"ok queue's retention", "ok queue's visibility timeout", "not checked dead-letter queue: there is no dead-letter queue arn:aws:sqs:us-east-1:123456789012:dead"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.standIn(t, tc.queues.standIn())
			res := f.run(t.Context(), t, append([]string{"check", "-json", "-queue", orders}, strings.Fields(tc.flags)...)...)
			var doc report
			if err := json.Unmarshal([]byte(res.out), &doc); err != nil {
				t.Fatal(err)
			}
			got := doc.Findings
			for len(got) > 0 && got[0].Rule != "queue" && got[0].Rule != "queue's retention" {
				got = got[1:] // the table's
			}
			if len(got) != len(tc.want) {
				t.Fatalf("%d findings, want %d: %+v", len(got), len(tc.want), got)
			}
			for i, want := range tc.want {
				if line := fmt.Sprintf("%s %s: %s", got[i].Level, got[i].Rule, got[i].Found); !strings.HasPrefix(line, want) {
					t.Errorf("finding %q, want %q", line, want)
				}
			}
		})
	}
}

func TestCheck_QueueGolden(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the tables' names")
	f := newFixture(t)
	f.standIn(t, queues{"orders": {4 * daily, 30, "dead"}, "dead": {4 * daily, 30, ""}}.standIn())
	golden(t, "check-queue", f.run(t.Context(), t, "check", "-queue", "https://sqs.us-east-1.amazonaws.com/123456789012/orders").out)
}

func TestCheck_QueueCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		attributes string
		want       string
	}{
		"denied":                   {"", "the caller needs sqs:GetQueueAttributes on the queue q in us-east-1"},
		"no number":                {`{"MessageRetentionPeriod":"long"}`, "invalid syntax"},
		"no attributes":            {`{}`, "invalid syntax"},
		"a policy that is no JSON": {`{"MessageRetentionPeriod":"60","VisibilityTimeout":"30","RedrivePolicy":"5 times"}`, "invalid character"},
		"a target that is no ARN":  {`{"MessageRetentionPeriod":"60","VisibilityTimeout":"30","RedrivePolicy":"{\"deadLetterTargetArn\":\"dead\"}"}`, "its ARN cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			s := standIn{"DescribeContinuousBackups": answers(recoveryOn), "GetQueueAttributes": fails("AccessDeniedException"), "DescribeTimeToLive": answers(strings.Replace(timeToLive, "STATUS", "ENABLED", 1))}
			if tc.attributes != "" {
				s["GetQueueAttributes"] = answers(`{"Attributes":` + tc.attributes + `}`)
			}
			f.standIn(t, s)
			f.run(t.Context(), t, "check", "-queue", "q").want(t, exitUnasked, "not checked", tc.want)
		})
	}
}
