package httpevent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-lambda-go/events"
)

// Identity is who the authorizer says the caller is.
type Identity struct {
	Claims      map[string]string
	Scopes      []string
	PrincipalID string
	Context     map[string]any
	IAM         *events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription
	APIKeyID    string
}

// check refuses what the event of this kind of door has no place for: it would be lost silently.
func (id Identity) check(k Kind, allowed []string) error {
	iam := events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{}
	if id.IAM != nil {
		iam = *id.IAM
	}
	for _, member := range []struct {
		name string
		set  bool
	}{
		{"Claims", id.Claims != nil},
		{"Scopes", id.Scopes != nil},
		{"PrincipalID", id.PrincipalID != ""},
		{"Context", id.Context != nil},
		{"IAM", id.IAM != nil},
		{"IAM.CognitoIdentity", iam.CognitoIdentity.IdentityID != "" || iam.CognitoIdentity.IdentityPoolID != ""},
		{"IAM.CognitoIdentity.AMR", iam.CognitoIdentity.AMR != nil},
		{"IAM.PrincipalOrgID", iam.PrincipalOrgID != ""},
		{"APIKeyID", id.APIKeyID != ""},
	} {
		if member.set && !slices.Contains(allowed, member.name) {
			return fmt.Errorf("identity: %s is set, must be left out for %v, which passes on %v", member.name, k, allowed)
		}
	}
	return nil
}

// texts are the members of Context as a REST API passes them on: numbers and booleans as text. An authorizer that
// returns anything else is an error there, and the client gets a 500.
func (id Identity) texts() (map[string]any, error) {
	if id.Context == nil {
		return nil, nil
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(id.Context)) {
		doc, err := json.Marshal(id.Context[name])
		if err != nil {
			return nil, fmt.Errorf("identity: Context must be encodable as JSON: %s: %w", name, err)
		}
		var text scalar
		if err := json.Unmarshal(doc, &text); err != nil || string(doc) == "null" {
			return nil, fmt.Errorf("identity: Context has %s for %q, must be a text, a number or a boolean for RESTAPI", doc, name)
		}
		out[name] = string(text)
	}
	return out, nil
}
