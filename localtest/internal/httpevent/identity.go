package httpevent

import (
	"fmt"
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
	for _, member := range []struct {
		name string
		set  bool
	}{
		{"Claims", id.Claims != nil},
		{"Scopes", id.Scopes != nil},
		{"PrincipalID", id.PrincipalID != ""},
		{"Context", id.Context != nil},
		{"IAM", id.IAM != nil},
		{"APIKeyID", id.APIKeyID != ""},
	} {
		if member.set && !slices.Contains(allowed, member.name) {
			return fmt.Errorf("identity: %s is set, must be left out for %v, which passes on %v", member.name, k, allowed)
		}
	}
	return nil
}
