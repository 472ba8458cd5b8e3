"""Prints template.yaml as CloudFormation gets it: SAM's resources written out, for a second lint.

Linters see less in the SAM form: the IAM actions of a function's Policies, for one, are not looked at there.
"""

import json
import sys

from cfnlint.decode import decode
from cfnlint.template.transforms._sam import Transform

path = sys.argv[1]
template, problems = decode(path)
if not problems:
    transform = Transform(path, template, "us-east-1")
    problems = transform.transform_template()
if problems:
    sys.exit("\n".join(str(problem) for problem in problems))
json.dump(transform.template(), sys.stdout, indent=2)
