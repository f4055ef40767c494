import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateCri } from './generate-cri.ts';
import { parseProtoTable } from './proto-table.ts';
import { protoText } from './proto-text.ts';

const TABLE = `package	demo.v1
rpc	Shop	Buy	BuyRequest	demo.types.Receipt	unary
rpc	Shop	Watch	BuyRequest	BuyRequest	server-stream
message	BuyRequest
enum	BuyRequest.Size
value	BuyRequest.Size	0	SMALL
value	BuyRequest.Size	1	LARGE
message	BuyRequest.Item
field	BuyRequest.Item	1	name	string	single
field	BuyRequest	1	size	Size	single
field	BuyRequest	2	items	Item	repeated
field	BuyRequest	3	card	string	oneof payment
field	BuyRequest	9	labels	map<string,string>	single
field	BuyRequest	4	cash	int64	oneof payment
field	BuyRequest	5	old	bool	single deprecated
enum	Colour
value	Colour	0	RED
`;

const PROTO = `// Written from demo.tsv by tools/generate-proto.ts.
syntax = "proto3";
package demo.v1;

import "types.proto";

service Shop {
  rpc Buy(BuyRequest) returns (demo.types.Receipt);
  rpc Watch(BuyRequest) returns (stream BuyRequest);
}

message BuyRequest {
  enum Size {
    SMALL = 0;
    LARGE = 1;
  }
  message Item {
    string name = 1;
  }
  Size size = 1;
  repeated Item items = 2;
  oneof payment {
    string card = 3;
    int64 cash = 4;
  }
  map<string, string> labels = 9;
  bool old = 5 [deprecated = true];
}

enum Colour {
  RED = 0;
}
`;

test('protoText() writes the .proto file of a table', () => {
  assert.equal(protoText(parseProtoTable(TABLE), { source: 'demo.tsv', imports: ['types.proto'] }), PROTO);
});

test('parseProtoTable() names the invalid line', () => {
  assert.throws(
    () => parseProtoTable('package\tdemo\nfeild\tA\t1\tb\tstring\tsingle\n'),
    /line 2: unknown kind "feild"/,
  );
});

test('generateCri() is deterministic, and owns whole folders', () => {
  const root = join(import.meta.dirname, '..');
  const first = generateCri(root);
  assert.deepEqual(generateCri(root), first);
  assert.deepEqual(first.folders, ['src/cri/generated']);
  assert.deepEqual(
    new Set(first.files.keys()),
    new Set([
      'src/cri/generated/containerd-events.proto',
      'src/cri/generated/containerd-events.ts',
      'src/cri/generated/containerd-services-events-v1.proto',
      'src/cri/generated/containerd-services-events-v1.ts',
      'src/cri/generated/containerd-types-event.proto',
      'src/cri/generated/containerd-types-event.ts',
      'src/cri/generated/google/protobuf/any.ts',
      'src/cri/generated/google/protobuf/empty.ts',
      'src/cri/generated/google/protobuf/timestamp.ts',
      'src/cri/generated/runtime-v1.proto',
      'src/cri/generated/runtime-v1.ts',
    ]),
  );
});
