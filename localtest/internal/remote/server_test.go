package remote_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/localtest/internal/remote"
)

// stage is a machine with stand-ins for what it takes.
type stage struct {
	t     *testing.T
	bin   string // where the stand-ins are
	jars  string // the folder of DynamoDB Local
	heard net.Listener
}

func newStage(t *testing.T) stage {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := stage{t: t, bin: filepath.Join(t.TempDir(), "java", "bin"), jars: t.TempDir(), heard: l}
	if err := os.MkdirAll(s.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(s.jars, "DynamoDBLocal.jar"), "not really")
	return s
}

func (s stage) write(file, text string) {
	s.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil { //nolint:gosec // a program
		s.t.Fatal(err)
	}
}

// program puts a stand-in in place, which runs the lines and then serves on $port.
func (s stage) program(name, lines string) {
	s.t.Helper()
	s.write(filepath.Join(s.bin, name), fmt.Sprintf("#!/bin/sh\n%s\nexec env STAND_IN_FOR=server STAND_IN_TELLS=%s %s \"$@\" -port \"$port\"\n",
		lines, s.heard.Addr(), os.Args[0]))
}

// environment is that of a test run.
func (s stage) environment(variables ...string) func(string) string {
	return func(name string) string {
		for _, v := range append(variables, "JAVA_HOME="+filepath.Dir(s.bin)) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// hear waits for a stand-in that serves.
func (s stage) hear() (arguments string, lines *bufio.Scanner) {
	s.t.Helper()
	conn, err := s.heard.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	lines = bufio.NewScanner(conn)
	if !lines.Scan() {
		s.t.Fatal("the stand-in told nothing")
	}
	return lines.Text(), lines
}

const takesPort = `port=; for a; do test "$last" = -port && port=$a; last=$a; done`

func TestOpen_Jar(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.program("java", takesPort)
	r := remote.New(s.environment("DYNAMODB_LOCAL_DIR=" + s.jars))
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("[%q %q %q %q %q %q ", "-Djava.library.path="+filepath.Join(s.jars, "DynamoDBLocal_lib"), "-jar", filepath.Join(s.jars, "DynamoDBLocal.jar"), "-inMemory", "-sharedDb", "-port")
	if got, _ := s.hear(); !strings.HasPrefix(got, want) {
		t.Errorf("started with %s, want %s…", got, want)
	}
	reply, err := r.Send("ListTables", []byte("{}"))
	if err != nil || reply.Status != 200 || string(reply.Body) != `{"TableNames":[]}` {
		t.Errorf("reply %+v, %v", reply, err)
	}
}

// Not parallel: where Docker is found is the process's own environment.
func TestOpen_Image(t *testing.T) {
	s := newStage(t)
	s.program("docker", `for a; do case $a in 127.0.0.1:*:8000) port=${a#127.0.0.1:}; port=${port%:8000};; esac; done`)
	t.Setenv("PATH", s.bin+":"+os.Getenv("PATH"))
	r := remote.New(s.environment("DYNAMODB_LOCAL_IMAGE=amazon/dynamodb-local:3.1.0"))
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	got, _ := s.hear()
	const want = `"amazon/dynamodb-local:3.1.0" "-jar" "DynamoDBLocal.jar" "-inMemory" "-sharedDb"`
	if !strings.HasPrefix(got, `["run" "--rm" `) || !strings.Contains(got, want) {
		t.Errorf("started with %s, want … %s", got, want)
	}
}

// What was started ends with the process that has started it, even if that one is killed; also what a wrapper has
// started in its turn, and what does not listen to signals.
func TestOpen_EndsWithTheProcess(t *testing.T) {
	t.Parallel()
	for name, java := range map[string]string{
		"java":       takesPort,
		"a wrapper":  takesPort + "\nsh -c 'exec \"$0\" \"$@\"' env STAND_IN_FOR=server STAND_IN_TELLS=%s %s -port \"$port\"; exit",
		"a deaf one": takesPort + "\ntrap '' TERM; export STAND_IN_DEAF=1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			if strings.Contains(java, "%s") {
				java = fmt.Sprintf(java, s.heard.Addr(), os.Args[0])
			}
			s.program("java", java)
			user := exec.CommandContext(t.Context(), os.Args[0])
			user.Env = append(os.Environ(), "STAND_IN_FOR=user", "DYNAMODB_LOCAL_DIR="+s.jars, "JAVA_HOME="+filepath.Dir(s.bin))
			output, err := user.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			user.Stderr = os.Stderr
			if err := user.Start(); err != nil {
				t.Fatal(err)
			}
			if lines := bufio.NewScanner(output); !lines.Scan() || lines.Text() != "open" {
				t.Fatalf("the process said %q", lines.Text())
			}
			_, alive := s.hear()
			if err := user.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = user.Wait()
			if alive.Scan() { // blocks until its end
				t.Errorf("the stand-in goes on: %s", alive.Text())
			}
		})
	}
}

// Asked for by name and missing: an error that says what is missing, never another DynamoDB.
func TestOpen_Missing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.write(filepath.Join(s.bin, "java"), "#!/bin/sh\necho no memory >&2\nexit 3\n")
	empty := t.TempDir()
	for _, c := range []struct {
		name      string
		variables []string
		want      []string
	}{
		{"no folder", []string{"DYNAMODB_LOCAL_DIR=/none"}, []string{"DYNAMODB_LOCAL_DIR=/none", "there is no DynamoDBLocal.jar in it"}},
		{"no jar", []string{"DYNAMODB_LOCAL_DIR=" + empty}, []string{empty, "there is no DynamoDBLocal.jar in it"}},
		{"no java", []string{"DYNAMODB_LOCAL_DIR=" + s.jars, "JAVA_HOME=" + empty}, []string{"DYNAMODB_LOCAL_DIR is set", "Java", empty}},
		{"java ends", []string{"DYNAMODB_LOCAL_DIR=" + s.jars}, []string{"DynamoDBLocal.jar", "has ended: exit status 3", "no memory"}},
		{"nobody there", []string{"LOCALTEST_DYNAMODB=http://127.0.0.1:1"}, []string{"LOCALTEST_DYNAMODB=http://127.0.0.1:1 does not answer", "refused"}},
		{"no URL", []string{"LOCALTEST_DYNAMODB=127.0.0.1:8000"}, []string{`LOCALTEST_DYNAMODB is "127.0.0.1:8000", must be a URL such as http://127.0.0.1:8000`}},
		{"no host", []string{"LOCALTEST_DYNAMODB=http://"}, []string{`LOCALTEST_DYNAMODB is "http://", must be a URL such as http://127.0.0.1:8000`}},
		{"a path", []string{"LOCALTEST_DYNAMODB=http://127.0.0.1:1/shell"}, []string{"must be a URL such as"}},
		{"another scheme", []string{"LOCALTEST_DYNAMODB=ftp://127.0.0.1:1"}, []string{"must be a URL such as"}},
		{"two", []string{"LOCALTEST_DYNAMODB=http://127.0.0.1:1", "DYNAMODB_LOCAL_DIR=" + s.jars}, []string{"LOCALTEST_DYNAMODB and DYNAMODB_LOCAL_DIR are set: set one of them"}},
		{"no bundle", []string{"LOCALTEST_DYNAMODB=https://127.0.0.1:1", "AWS_CA_BUNDLE=/none"}, []string{"AWS_CA_BUNDLE", "/none"}},
		{"an empty bundle", []string{"LOCALTEST_DYNAMODB=https://127.0.0.1:1", "AWS_CA_BUNDLE=" + filepath.Join(s.jars, "DynamoDBLocal.jar")}, []string{"AWS_CA_BUNDLE", "no certificate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := remote.New(s.environment(c.variables...))
			for range 2 { // the second time, too
				err := r.Open()
				if err == nil {
					t.Fatal("opened")
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q, want %q in it", err, want)
					}
				}
			}
		})
	}
}

// Not parallel: where Docker is looked for is the process's own environment.
func TestOpen_NoDocker(t *testing.T) {
	s := newStage(t)
	t.Setenv("PATH", s.bin)
	err := remote.New(s.environment("DYNAMODB_LOCAL_IMAGE=amazon/dynamodb-local")).Open()
	if err == nil || !strings.Contains(err.Error(), "DYNAMODB_LOCAL_IMAGE is set, and it takes Docker") {
		t.Errorf("error %v", err)
	}
}

func TestNew_NothingAskedFor(t *testing.T) {
	t.Parallel()
	if r := remote.New(newStage(t).environment("AWS_REGION=eu-west-1")); r != nil {
		t.Errorf("%v is nothing that was asked for", r.Name)
	}
}
