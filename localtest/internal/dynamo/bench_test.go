package dynamo

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkPutUpdatePair is the engine's share of a claim and its completion, in a table with no index, one that
// shows everything, and one that shows the keys.
func BenchmarkPutUpdatePair(b *testing.B) {
	for _, index := range []string{"none", "ALL", "KEYS_ONLY"} {
		b.Run(index, func(b *testing.B) {
			e := New(time.Now)
			create := `{'TableName':'records','BillingMode':'PAY_PER_REQUEST','KeySchema':[{'AttributeName':'id','KeyType':'HASH'}],
				'AttributeDefinitions':[{'AttributeName':'id','AttributeType':'S'}]}`
			if index != "none" {
				create = strings.Replace(create, `]}`, `,{'AttributeName':'status','AttributeType':'S'}],'GlobalSecondaryIndexes':[{'IndexName':'status',
					'KeySchema':[{'AttributeName':'status','KeyType':'HASH'},{'AttributeName':'id','KeyType':'RANGE'}],'Projection':{'ProjectionType':'`+index+`'}}]}`, 1)
			}
			apply := func(operation, body string) {
				if r := e.Apply(e.Parse(operation, []byte(strings.ReplaceAll(body, "'", `"`)))); r.Code != "" {
					b.Fatalf("%s: %s", operation, r.Body)
				}
			}
			apply("CreateTable", create)
			b.ReportAllocs()
			serial := 0
			for b.Loop() {
				serial++
				id := fmt.Sprint("pay#", serial)
				apply("PutItem", `{'TableName':'records','Item':{'id':{'S':'`+id+`'},'status':{'S':'INPROGRESS'},'attempt':{'S':'token'},
					'expiration':{'N':'1700003600'},'in_progress_expiration':{'N':'1700000060000'}},
					'ConditionExpression':'attribute_not_exists(#id) OR #exp < :now','ExpressionAttributeNames':{'#id':'id','#exp':'expiration'},
					'ExpressionAttributeValues':{':now':{'N':'1700000000'}},'ReturnValuesOnConditionCheckFailure':'ALL_OLD'}`)
				apply("UpdateItem", `{'TableName':'records','Key':{'id':{'S':'`+id+`'}},
					'UpdateExpression':'SET #st = :done, #data = :data REMOVE in_progress_expiration','ConditionExpression':'attempt = :token AND #st = :running',
					'ExpressionAttributeNames':{'#st':'status','#data':'data'},'ExpressionAttributeValues':{':done':{'S':'COMPLETED'},
					':data':{'S':'{\"paid\":true}'},':token':{'S':'token'},':running':{'S':'INPROGRESS'}},'ReturnValuesOnConditionCheckFailure':'ALL_OLD'}`)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}
