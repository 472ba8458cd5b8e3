package idempotency_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Here are the calls of the pairs as they are written by hand, as plainly as the SDK has it.

// handValues are what a program has to compute before it can send anything.
type handValues struct {
	id, token, fingerprint string
	now, lease             string // ms
	expiry                 string // s
	form                   string
}

// constants are the library's values for nothing: by=hand is the SDK's work alone.
func constants(id, form string) handValues {
	return handValues{
		id: id, token: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", fingerprint: "v1:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		now: "1700000000000", lease: "1700000000000", expiry: "1700000000", form: form,
	}
}

func handID(n int) string { return fmt.Sprintf("pay#%064d", n) }

// computed are values that mean what the library's mean: by=careful is what somebody writes who wants the same, with what the
// standard library has. The input is compared as JSON, whatever the order of its members.
func computed(key string) (v handValues, err error) {
	dec := json.NewDecoder(bytes.NewReader(benchInput))
	dec.UseNumber()
	var input any
	if err := dec.Decode(&input); err != nil {
		return v, err
	}
	canonical, err := json.Marshal(input)
	if err != nil {
		return v, err
	}
	fingerprint := sha256.Sum256(canonical)
	id := sha256.New()
	for _, part := range []string{"alice", "pay", key} {
		_ = binary.Write(id, binary.BigEndian, int64(len(part)))
		id.Write([]byte(part))
	}
	now := time.Now()
	return handValues{
		id: "pay#" + hex.EncodeToString(id.Sum(nil)), token: rand.Text(), fingerprint: "v1:" + hex.EncodeToString(fingerprint[:]),
		now: strconv.FormatInt(now.UnixMilli(), 10), lease: strconv.FormatInt(now.Add(15*time.Minute).UnixMilli(), 10),
		expiry: strconv.FormatInt(now.Add(24*time.Hour).Unix(), 10), form: "do",
	}, nil
}

func handNumber(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// handFree is the condition of a claim.
const handFree = "attribute_not_exists(#pk) OR (#attempt <> :mine AND #expiry < :expired AND " +
	"(#status IN (:completed, :failed, :released, :unknown) OR (#status = :inprogress AND #in_progress_expiration < :now)))"

func handFreeNames() map[string]string {
	return map[string]string{
		"#pk": "id", "#attempt": "attempt", "#expiry": "expiration", "#status": "status", "#in_progress_expiration": "in_progress_expiration",
	}
}

func handFreeValues(v handValues) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		":mine":       text(v.token),
		":expired":    handNumber(v.now[:10]),
		":now":        handNumber(v.now),
		":inprogress": text("INPROGRESS"),
		":completed":  text("COMPLETED"),
		":failed":     text("FAILED"),
		":released":   text("RELEASED"),
		":unknown":    text("UNKNOWN"),
	}
}

func handClaim(s *bench, v handValues) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{
		TableName: aws.String(s.table),
		Item: map[string]types.AttributeValue{
			"id":                     text(v.id),
			"attempt":                text(v.token),
			"attempt_no":             handNumber("1"),
			"window":                 handNumber(v.now),
			"started":                handNumber(v.now),
			"form":                   text(v.form),
			"schema":                 handNumber("1"),
			"validation":             text(v.fingerprint),
			"expiration":             handNumber(v.expiry),
			"status":                 text("INPROGRESS"),
			"in_progress_expiration": handNumber(v.lease),
			"steps":                  &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
		},
		ConditionExpression:                 aws.String(handFree),
		ExpressionAttributeNames:            handFreeNames(),
		ExpressionAttributeValues:           handFreeValues(v),
		ReturnValues:                        types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// handOutcome is the update of a completion, and handOwn its condition.
const (
	handOutcome = "SET #status = :status, #completed = :now, #expiry = :expiry, #data = :data " +
		"REMOVE #steps, #prior_no, #prior_started, #prior_lease, #in_progress_expiration"
	handOwn = "#attempt = :mine AND #status = :inprogress"
)

func handOutcomeNames() map[string]string {
	return map[string]string{
		"#status": "status", "#data": "data", "#completed": "completed", "#expiry": "expiration", "#steps": "steps", "#prior_no": "prior_no",
		"#prior_started": "prior_started", "#prior_lease": "prior_lease", "#in_progress_expiration": "in_progress_expiration", "#attempt": "attempt",
	}
}

func handOutcomeValues(v handValues, data string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		":mine": text(v.token), ":inprogress": text("INPROGRESS"), ":status": text("COMPLETED"),
		":now": handNumber(v.now), ":expiry": handNumber(v.expiry), ":data": text(data),
	}
}

func handCompletion(s *bench, v handValues, data string) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName:                           aws.String(s.table),
		Key:                                 map[string]types.AttributeValue{"id": text(v.id)},
		UpdateExpression:                    aws.String(handOutcome),
		ConditionExpression:                 aws.String(handOwn),
		ExpressionAttributeNames:            handOutcomeNames(),
		ExpressionAttributeValues:           handOutcomeValues(v, data),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// handEncoded is the answer's JSON, as Lambda's runtime has it.
func handEncoded() (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(benchAnswer); err != nil {
		return "", err
	}
	return strings.TrimSuffix(buf.String(), "\n"), nil
}

// handDecoded reads a recorded answer, as a program has to.
func handDecoded(it item) error {
	if it.text("status") != "COMPLETED" {
		return errRanAgain
	}
	var answer benchReceipt
	if err := json.Unmarshal([]byte(it.text("data")), &answer); err != nil {
		return err
	}
	if answer.Amount != benchAnswer.Amount {
		return errWrongAnswer
	}
	return nil
}

func firstByHand(s *bench, n int) error {
	v := constants(handID(n), "do")
	if _, err := s.client.PutItem(s.ctx, handClaim(s, v)); err != nil {
		return err
	}
	data, err := handEncoded()
	if err != nil {
		return err
	}
	_, err = s.client.UpdateItem(s.ctx, handCompletion(s, v, data))
	return err
}

func replayByHand(s *bench, _ int) error { return handReplay(s.ctx, s, constants(benchID, "do")) }

func handReplay(ctx context.Context, s *bench, v handValues) error {
	_, err := s.client.PutItem(ctx, handClaim(s, v))
	failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return fmt.Errorf("there is no record: %w", err)
	}
	return handDecoded(failed.Item)
}

func readByHand(s *bench, _ int) error {
	out, err := s.client.GetItem(s.ctx, &dynamodb.GetItemInput{
		TableName: aws.String(s.table), Key: map[string]types.AttributeValue{"id": text(benchID)}, ConsistentRead: aws.Bool(false),
	})
	if err != nil {
		return err
	}
	return handDecoded(out.Item)
}

// handCall is how long one call may take.
const handCall = 10 * time.Second

func firstCarefully(s *bench, n int) error {
	v, err := computed(strconv.Itoa(n))
	if err != nil {
		return err
	}
	claiming, cancel := context.WithTimeout(s.ctx, handCall)
	defer cancel()
	if _, err := s.client.PutItem(claiming, handClaim(s, v)); err != nil {
		return err
	}
	data, err := handEncoded()
	if err != nil {
		return err
	}
	completing, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), handCall)
	defer cancel()
	_, err = s.client.UpdateItem(completing, handCompletion(s, v, data))
	return err
}

func replayCarefully(s *bench, _ int) error {
	v, err := computed("0")
	if err != nil {
		return err
	}
	v.id = benchID
	ctx, cancel := context.WithTimeout(s.ctx, handCall)
	defer cancel()
	return handReplay(ctx, s, v)
}
