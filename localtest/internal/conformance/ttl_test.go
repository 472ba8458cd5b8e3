package conformance

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func ttl(attribute string, enabled bool) *types.TimeToLiveSpecification {
	return &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &enabled}
}

func (f fixture) setTTL(attribute string, enabled bool) (*types.TimeToLiveSpecification, error) {
	out, err := f.client.UpdateTimeToLive(f.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &f.table, TimeToLiveSpecification: ttl(attribute, enabled)})
	if err != nil {
		return nil, err
	}
	return out.TimeToLiveSpecification, nil
}

func (f fixture) describeTTL() *types.TimeToLiveDescription {
	f.Helper()
	out, err := f.client.DescribeTimeToLive(f.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &f.table})
	if err != nil {
		f.Fatal(err)
	}
	return out.TimeToLiveDescription
}

func TestTTL_Off(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if d := f.describeTTL(); d == nil || d.TimeToLiveStatus != types.TimeToLiveStatusDisabled || d.AttributeName != nil {
		t.Errorf("description %+v", d)
	}
}

func TestTTL_Enable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, err := f.setTTL("expiration", true)
	wantCode(t, err, "")
	if s == nil || aws.ToString(s.AttributeName) != "expiration" || !aws.ToBool(s.Enabled) {
		t.Errorf("specification %+v", s)
	}
	d := f.describeTTL()
	if d == nil || aws.ToString(d.AttributeName) != "expiration" || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		t.Errorf("description %+v", d)
	}
}

func TestTTL_Refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.setTTL("expiration", false)
	wantCode(t, err, invalid) // it is off already
	_, err = f.setTTL("", true)
	wantCode(t, err, invalid)
	_, err = f.setTTL("expiration", true)
	wantCode(t, err, "")
	_, err = f.setTTL("expiration", true)
	wantCode(t, err, invalid)
	_, err = f.setTTL("other", true)
	wantCode(t, err, invalid)
}

// The service takes days to delete what has expired; until then it is there, and conditions see it.
func TestTTL_ExpiredItemIsServed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.setTTL("expiration", true)
	wantCode(t, err, "")
	expired := item{"id": "k", "expiration": int(time.Now().Add(-time.Minute).Unix())}
	f.put(expired)
	f.wantStored(item{"id": "k"}, expired)
	wantCode(t, f.putIf(item{"id": "k"}, expressions{condition: "attribute_not_exists(id)"}), conditionFailed)
}
