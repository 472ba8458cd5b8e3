"""The embedded server as a program of its own."""

import os
import subprocess


class Server:
    """Runs the server until the end of its with block, on a port that it chooses."""

    def __init__(self, executable):
        self.process = subprocess.Popen(
            [executable, "-addr", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            line = self.process.stdout.readline().strip()
            if "http://" not in line:
                raise RuntimeError(f"the server names no address, but says {line!r}")
        except BaseException:
            self.close()
            raise
        self.endpoint = line[line.index("http://") :]

    @property
    def address(self):
        host, port = self.endpoint.removeprefix("http://").split(":")
        return host, int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Kills it if it runs."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def environment(server):
    """All that a client is told: nothing of this machine's settings and credentials."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "AWS_ENDPOINT_URL_DYNAMODB": server.endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",  # a second try would hide a wrong first answer
        "AWS_PAGER": "",
    }
