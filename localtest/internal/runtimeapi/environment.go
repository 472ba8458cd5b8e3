package runtimeapi

import (
	"crypto/rand"
	"path/filepath"
	"strconv"
	"time"
)

// What Lambda would take from the function's configuration.
const (
	functionName = "function"

	// FunctionARN is what an invocation is told of its function. The account is that of the tables.
	FunctionARN = "arn:aws:lambda:us-east-1:000000000000:function:" + functionName
)

// ClockVariable is the environment variable that tells a process how far its clock is off, as a
// time.Duration's text.
const ClockVariable = "LOCALTEST_CLOCK_OFFSET"

// environment is what a process gets without asking: Lambda's variables and credentials that open
// nothing. Nothing of this program's own environment is passed on, least of all real credentials.
func environment(cfg Config, address string) []string {
	env := []string{
		"AWS_LAMBDA_RUNTIME_API=" + address,
		PointsVariable + "=http://" + address + pointPath,
		"AWS_LAMBDA_FUNCTION_NAME=" + functionName,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=128",
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + functionName,
		"AWS_LAMBDA_LOG_STREAM_NAME=" + time.Now().UTC().Format("2006/01/02") + "/[$LATEST]" + rand.Text(),
		"AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=local",
		"AWS_SECRET_ACCESS_KEY=local",
		"AWS_SESSION_TOKEN=local",
		"AWS_EC2_METADATA_DISABLED=true", // no look-ups beyond loopback
		"LAMBDA_TASK_ROOT=" + filepath.Dir(cfg.Path),
		"_HANDLER=bootstrap",
		"LANG=en_US.UTF-8",
		"TZ=:UTC",
		"PATH=/usr/local/bin:/usr/bin:/bin",
	}
	if cfg.Concurrency > 1 {
		env = append(env, "AWS_LAMBDA_MAX_CONCURRENCY="+strconv.Itoa(cfg.Concurrency))
	}
	if cfg.ClockOffset != 0 {
		env = append(env, ClockVariable+"="+cfg.ClockOffset.String())
	}
	return env
}
