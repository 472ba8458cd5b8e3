package lambda

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// tenantPrefix begins every scope that has a tenant in it.
const tenantPrefix = "oncekey/tenant/"

// tenantScope is the request's scope inside the invocation's tenant, if it has one (I11). The tenant's length goes
// before it, so that no two pairs of tenant and scope meet. A scope without tenant that looks like one with is
// written as that of an empty tenant, for the same reason.
//
// It is part of the record's identity and must not change.
func tenantScope(ctx context.Context, scope string) string {
	tenant := ""
	if lc, ok := lambdacontext.FromContext(ctx); ok && lc != nil {
		tenant = lc.TenantID
	}
	if tenant == "" && !strings.HasPrefix(scope, tenantPrefix) {
		return scope
	}
	return fmt.Sprintf("%s%d/%s%s", tenantPrefix, len(tenant), tenant, scope)
}
