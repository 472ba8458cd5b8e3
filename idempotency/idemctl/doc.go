// Command idemctl shows and settles the records of a table, checks the table, makes one, and says what it costs.
//
//	idemctl get ID                                  one record
//	idemctl get -operation O -scope S -key K        the record of a request
//	idemctl list [-status unknown] [-older 10m]     the records that wait for somebody
//	idemctl resolve ID -as completed -value JSON    says what has happened
//	idemctl check [-queue URL]                      holds table and queue against what the library needs
//	idemctl create-table                            makes the table
//	idemctl cost -rate 1000 -retries 5% -size 2KB   what it costs, without asking anybody
//
// "idemctl help COMMAND" lists the flags of one. They stand before or after the arguments.
//
// The table is -table, or IDEMPOTENCY_TABLE. Region, profile, credentials and endpoint are the AWS SDK's, from its
// environment and files, or by -region, -profile and -endpoint-url. A table with other attributes, or another HMAC secret, than
// the defaults is named as in the program: -pk, -sk, -sk-value, -expiry, -secret-file.
//
// Results go to stdout, questions, progress and errors to stderr. With -json the result is one JSON document; of list, one a
// record and line. Times are UTC.
//
// # Exit codes
//
//	0  it is so, or was done
//	1  refused, or a problem was found
//	2  the command line cannot be right
//	3  there is no such record
//	4  the table, or a part of what was asked for, could not be asked: no credentials, no permission, no answer
//
// # Rights
//
// On the table, and of sqs on the queue and its dead-letter queue:
//
//	get            dynamodb:GetItem, dynamodb:BatchGetItem (outcomes over 384 KB, as they are stored)
//	list           dynamodb:Scan
//	resolve        dynamodb:GetItem, dynamodb:UpdateItem; with a value over 1.5 KB dynamodb:PutItem, over 384 KB
//	               dynamodb:BatchWriteItem and dynamodb:BatchGetItem
//	check          dynamodb:DescribeTable, dynamodb:DescribeTimeToLive, dynamodb:DescribeContinuousBackups;
//	               with -queue sqs:GetQueueAttributes, sqs:GetQueueUrl
//	create-table   dynamodb:DescribeTable, dynamodb:CreateTable, dynamodb:DescribeTimeToLive, dynamodb:UpdateTimeToLive
//	cost           none
//
// # What resolve promises
//
// It writes once, guarded by the token that it has shown: if the record has another attempt or an outcome by then, nothing is
// written. Whatever kills it, or loses its reply, leaves the record as it was or resolved; running it again says which.
package main
