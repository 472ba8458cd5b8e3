package remote

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// settings are what the environment says.
type settings struct {
	name        string
	target      string // a URL, or what is to be started
	command     func(port string) ([]string, error)
	credentials aws.Credentials
	region      string
	bundle      string // of certificates, in a file
}

// The variables that select a DynamoDB.
const (
	urlVariable   = "LOCALTEST_DYNAMODB"
	jarVariable   = "DYNAMODB_LOCAL_DIR"
	imageVariable = "DYNAMODB_LOCAL_IMAGE"
)

// Variables are all that are looked at.
var Variables = []string{
	urlVariable, jarVariable, imageVariable, "JAVA_HOME", "AWS_CA_BUNDLE",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
}

func read(getenv func(string) string) (settings, error) {
	s := settings{
		region: "us-east-1",
		bundle: getenv("AWS_CA_BUNDLE"),
		// Any will do for a DynamoDB on this machine; letters and digits are what DynamoDB Local accepts.
		credentials: aws.Credentials{AccessKeyID: "localtest", SecretAccessKey: "localtest"},
	}
	var asked []string
	for _, variable := range Variables[:3] {
		if v := getenv(variable); v != "" {
			asked = append(asked, variable)
			s.name, s.target = variable+"="+v, v
		}
	}
	if len(asked) > 1 {
		return s, fmt.Errorf("%s are set: set one of them", strings.Join(asked, " and "))
	}
	if id := getenv("AWS_ACCESS_KEY_ID"); id != "" {
		s.credentials = aws.Credentials{AccessKeyID: id, SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN")}
	}
	for _, variable := range []string{"AWS_DEFAULT_REGION", "AWS_REGION"} {
		if region := getenv(variable); region != "" {
			s.region = region
		}
	}
	switch {
	case getenv(jarVariable) != "":
		s.command = jar(s.target, getenv("JAVA_HOME"))
	case getenv(imageVariable) != "":
		s.command = container(s.target)
	case s.target != "":
		return s, checkURL(s.target)
	}
	return s, nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return fmt.Errorf("%s is %q, must be a URL such as http://127.0.0.1:8000", urlVariable, text)
	}
	return nil
}
