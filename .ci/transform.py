"""Prints template.yaml as CloudFormation gets it: SAM's resources written out, for a second lint.

Linters see less in the SAM form: the IAM actions of a function's Policies, for one, are not looked at there.
"""

import json
import sys

import boto3
from cfnlint.decode import decode
from samtranslator.model.exceptions import InvalidDocumentException
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

template, problems = decode(sys.argv[1])
if problems:
    sys.exit("\n".join(str(problem) for problem in problems))
template = json.loads(json.dumps(template))
for resource in template["Resources"].values():
    if resource["Type"] == "AWS::Serverless::Function":
        resource["Properties"]["CodeUri"] = "s3://bucket/key"  # as `sam deploy` has uploaded it
try:
    translator = Translator({}, Parser(), boto_session=boto3.Session(region_name="us-east-1"))
    template = translator.translate(template, {})
except InvalidDocumentException as e:
    sys.exit("\n".join(cause.message for cause in e.causes))
json.dump(template, sys.stdout, indent=2, default=str)
