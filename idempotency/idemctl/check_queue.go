package main

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// checkQueue holds the times of a queue against the window: a delivery after the window runs again.
func checkQueue(ctx context.Context, s *session, c *checker, r *report) {
	client := sqs.NewFromConfig(s.aws)
	at := place{"queue", c.queue, s.aws.Region}
	queue, err := ask(ctx, client, c.queue)
	if err != nil {
		r.unasked(ctx, "queue", at, err)
		return
	}
	const mend = "a longer Config.Retention, and give it here as -retention"
	if kept := queue.retention; kept > c.retention {
		r.warn("queue's retention", mend, "%s, and an outcome is kept for %s: a message that is delivered after that runs again", span(kept), span(c.retention))
	} else {
		r.ok("queue's retention", "%s, and an outcome is kept for %s", span(kept), span(c.retention))
	}
	if hidden := queue.visibility; hidden >= c.retention {
		r.warn("queue's visibility timeout", mend, "%s, and an outcome is kept for %s: the second delivery runs again", span(hidden), span(c.retention))
	} else {
		r.ok("queue's visibility timeout", "%s", span(hidden))
	}
	if queue.dead == "" {
		r.warn("dead-letter queue", "a RedrivePolicy, and an alarm on its queue", "there is none: a message whose outcome is unknown comes again for %s, and is then lost", span(queue.retention))
		return
	}
	checkDeadLetters(ctx, client, s, c, queue, r)
}

// checkDeadLetters: a person who redrives a message must find its record. Of a standard queue the age goes on counting when a
// message moves to the dead letters; of a FIFO queue it begins anew. A redriven message is as new in the queue.
func checkDeadLetters(ctx context.Context, client *sqs.Client, s *session, c *checker, source queue, r *report) {
	const rule = "dead-letter queue"
	at := place{rule, source.dead, s.aws.Region}
	name, err := arn.Parse(source.dead)
	if err != nil {
		r.add(levelNotChecked, rule, "", "its ARN cannot be read: %v", err)
		return
	}
	url, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name.Resource, QueueOwnerAWSAccountId: &name.AccountID})
	if err != nil {
		r.unasked(ctx, rule, at, err)
		return
	}
	dead, err := ask(ctx, client, aws.ToString(url.QueueUrl))
	if err != nil {
		r.unasked(ctx, rule, at, err)
		return
	}
	fifo := strings.HasSuffix(name.Resource, ".fifo")
	if !fifo && dead.retention <= source.retention {
		r.warn(rule, "a longer retention of the dead-letter queue: 14 days", "%s after %s deliveries, kept for %s from when it was sent, no longer than in the queue itself: a message may be gone before anybody looks",
			name.Resource, source.receives, span(dead.retention))
	} else {
		r.ok(rule, "%s after %s deliveries, kept for %s", name.Resource, source.receives, span(dead.retention))
	}
	reach := dead.retention + source.retention
	if fifo {
		reach += source.retention
	}
	for _, kept := range []struct {
		what, field string
		time        time.Duration
	}{{"an outcome", "Config.Retention", c.retention}, {"an unknown outcome", "Config.UnknownRetention", c.unknownRetention}} {
		if kept.time < reach {
			r.warn("redrive", "redrive sooner than that, or a longer "+kept.field+"; and a key out of the body, since a redriven message has a new id",
				"a message can come again for %s, and %s is kept for %s: after that it runs anew", span(reach), kept.what, span(kept.time))
		} else {
			r.ok("redrive", "a message can come again for %s, and %s is kept for %s", span(reach), kept.what, span(kept.time))
		}
	}
}

// queue is what was asked of one.
type queue struct {
	retention, visibility time.Duration
	dead, receives        string // ARN of its dead-letter queue, and after how many deliveries; empty: none
}

func ask(ctx context.Context, client *sqs.Client, url string) (queue, error) {
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{
		types.QueueAttributeNameMessageRetentionPeriod, types.QueueAttributeNameVisibilityTimeout, types.QueueAttributeNameRedrivePolicy,
	}})
	if err != nil {
		return queue{}, err
	}
	var q queue
	if q.retention, err = seconds(out.Attributes, types.QueueAttributeNameMessageRetentionPeriod); err != nil {
		return queue{}, err
	}
	if q.visibility, err = seconds(out.Attributes, types.QueueAttributeNameVisibilityTimeout); err != nil {
		return queue{}, err
	}
	if policy := out.Attributes[string(types.QueueAttributeNameRedrivePolicy)]; policy != "" {
		var redrive struct {
			Target   string          `json:"deadLetterTargetArn"`
			Receives json.RawMessage `json:"maxReceiveCount"` // a number, or one in quotes
		}
		if err := json.Unmarshal([]byte(policy), &redrive); err != nil {
			return queue{}, err
		}
		q.dead, q.receives = redrive.Target, strings.Trim(string(redrive.Receives), `"`)
	}
	return q, nil
}

func seconds(attributes map[string]string, name types.QueueAttributeName) (time.Duration, error) {
	n, err := strconv.ParseInt(attributes[string(name)], 10, 64)
	return time.Duration(n) * time.Second, err
}
